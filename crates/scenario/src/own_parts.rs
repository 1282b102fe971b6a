//! Parts that are not built in: those of a scenario's `use`, and those that the reading program provides.

use ackclock_declare::Library;

use crate::diagnostic::Diagnostics;
use crate::extensions::{Extensions, Unloadable};
use crate::file::taken_names;
use crate::tree::{FieldPath, Node, Step, Value};

/// The library of the parts that the scenario `tree` may name beside the built-in ones.
pub(crate) fn library(tree: &Node, extensions: &Extensions, diagnostics: &Diagnostics<'_>) -> Library {
    let mut library = extensions.library().clone();
    let path = FieldPath::of("use");
    let Some(Value::List(entries)) = tree.child(&Step::Key("use".to_owned())).map(|node| &node.value) else {
        return library; // what is no list is reported when the file is read
    };
    for (index, entry) in entries.iter().enumerate() {
        let Value::Text(name) = &entry.value else { continue };
        match extensions.load(name).and_then(|loaded| fresh(loaded, &library)) {
            Ok(loaded) => library.extend(&loaded),
            Err(Unloadable { message, remedy }) => diagnostics.report(&path.clone().index(index), message, remedy),
        }
    }
    library
}

/// Rejects a library that redefines a name which is built in or which an earlier entry has.
fn fresh(library: Library, earlier: &Library) -> Result<Library, Unloadable> {
    if let Some(name) = taken_names(&library).first() {
        return Err(Unloadable {
            message: format!("has a part {name:?}, which is the name of a built-in part"),
            remedy: "give yours another name".to_owned(),
        });
    }
    match earlier.clash(&library) {
        None => Ok(library),
        Some(name) => Err(Unloadable {
            message: format!("has a part {name:?}, as has another entry of `use`"),
            remedy: "rename one of them".to_owned(),
        }),
    }
}
