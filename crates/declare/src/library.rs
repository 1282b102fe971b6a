//! External parts, which the reader of a scenario adds.
//!
//! Names are looked up among the built-in parts, and then in the library that is open during the reading
//! ([`Library::open`]). The meaning of a name depends on the present reading, and not on earlier ones.

use std::any::{Any, TypeId};
use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;

use crate::part::{Part, Parts};

/// External parts of any kinds, for the lookup of names. Cheap to clone.
#[derive(Clone, Default)]
pub struct Library(Arc<Vec<Own>>);

#[derive(Clone, Copy)]
struct Own {
    name: &'static str,
    kind: TypeId,
    part: &'static (dyn Any + Send + Sync),
}

thread_local! {
    static OPEN: RefCell<Library> = RefCell::default();
}

impl Library {
    /// Adds a part. It lives as long as the program, like built-in ones: make it once for each definition and not for
    /// each scenario.
    pub fn add<C: 'static, X: Send + Sync + 'static>(&mut self, part: Part<C, X>) {
        let part: &'static Part<C, X> = Box::leak(Box::new(part));
        Arc::make_mut(&mut self.0).push(Own { name: part.about.name, kind: TypeId::of::<Part<C, X>>(), part });
    }

    /// Adds the parts of another library.
    pub fn extend(&mut self, other: &Self) {
        Arc::make_mut(&mut self.0).extend(other.0.iter());
    }

    /// True if there are no parts.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Calls `work`, in which names also refer to parts of this library.
    pub fn open<T>(&self, work: impl FnOnce() -> T) -> T {
        struct Restore(Library);
        impl Drop for Restore {
            fn drop(&mut self) {
                OPEN.set(std::mem::take(&mut self.0));
            }
        }
        let _restore = Restore(OPEN.replace(self.clone()));
        work()
    }

    /// The names of the library's parts of one kind.
    pub fn names<C: 'static, X: 'static>(&self) -> impl Iterator<Item = &'static str> {
        let kind = TypeId::of::<Part<C, X>>();
        self.0.iter().filter(move |own| own.kind == kind).map(|own| own.name)
    }

    /// A name under which the other library has another part, if there is one.
    pub fn clash(&self, other: &Self) -> Option<&'static str> {
        let differs = |own: &Own, part: &Own| {
            let is_same = std::ptr::addr_eq(std::ptr::from_ref(own.part), std::ptr::from_ref(part.part));
            own.kind == part.kind && own.name == part.name && !is_same
        };
        other.0.iter().find(|part| self.0.iter().any(|own| differs(own, part))).map(|part| part.name)
    }

    fn find<C: 'static, X: 'static>(&self, name: &str) -> Option<&'static Part<C, X>> {
        let kind = TypeId::of::<Part<C, X>>();
        let own = self.0.iter().find(|own| own.kind == kind && own.name == name)?;
        own.part.downcast_ref()
    }
}

impl fmt::Debug for Library {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|own| own.name)).finish()
    }
}

impl<C, X> Parts<C, X> {
    /// The part of this name: one of these, or one of the open library.
    pub fn find_known(&'static self, name: &str) -> Option<&'static Part<C, X>> {
        self.find(name).or_else(|| OPEN.with_borrow(|library| library.find(name)))
    }

    /// The names of these parts, and of those of the open library.
    pub fn known_names(&'static self) -> &'static [&'static str] {
        self.with_known_names(self.names())
    }

    /// These names, and those of parts of this kind in the open library.
    pub fn with_known_names(&'static self, names: &'static [&'static str]) -> &'static [&'static str] {
        let own: Vec<&'static str> = OPEN.with_borrow(|library| library.names::<C, X>().collect());
        if own.is_empty() { names } else { leaked(names.iter().copied().chain(own).collect()) }
    }
}

thread_local! {
    /// The lists of names so far, each of them once.
    static LISTS: RefCell<Vec<&'static [&'static str]>> = const { RefCell::new(Vec::new()) };
}

/// A list of names with the program's lifetime, which serde requires.
fn leaked(names: Vec<&'static str>) -> &'static [&'static str] {
    LISTS.with_borrow_mut(|lists| {
        lists.iter().find(|list| ***list == names).copied().unwrap_or_else(|| {
            let list: &'static [&'static str] = names.leak();
            lists.push(list);
            list
        })
    })
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use super::*;
    use crate::own::OwnField;
    use crate::part::About;
    use crate::spec::default;

    fn part(name: &'static str) -> Part<f64> {
        let about = About { name, aliases: &[], summary: "", source: "", departures: "" };
        let field = OwnField::new("gain", "Growth", default(2.0).above(0.0));
        Part::of_own_fields(about, (), vec![field], |table| table["gain"].as_f64().unwrap_or_default())
    }

    static BUILT_IN: LazyLock<Parts<f64>> = LazyLock::new(|| Parts::new(vec![part("reno")]));

    #[test]
    fn names_of_a_library_are_known_while_it_is_open() {
        let mut library = Library::default();
        library.add(part("mine"));
        assert!(BUILT_IN.find_known("mine").is_none());
        library.open(|| {
            assert_eq!(BUILT_IN.find_known("mine").map(|part| part.about.name), Some("mine"));
            assert_eq!(BUILT_IN.known_names(), ["reno", "mine"]);
            Library::default().open(|| assert!(BUILT_IN.find_known("mine").is_none()));
            assert!(BUILT_IN.find_known("mine").is_some());
        });
        assert_eq!(BUILT_IN.known_names(), ["reno"]);
    }

    #[test]
    fn two_parts_of_a_name_clash_and_one_does_not_with_itself() {
        let (mut first, mut second) = (Library::default(), Library::default());
        first.add(part("mine"));
        second.add(part("mine"));
        assert_eq!((first.clash(&second), first.clash(&first.clone())), (Some("mine"), None));
    }

    #[test]
    fn a_name_is_of_its_kind_only() {
        let mut library = Library::default();
        library.add(part("mine"));
        assert_eq!(library.names::<f64, ()>().collect::<Vec<_>>(), ["mine"]);
        assert_eq!(library.names::<u64, ()>().count(), 0);
    }
}
