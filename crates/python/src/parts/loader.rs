//! Loads the parts of an entry of a scenario's `use`: a module of Python, or a plug-in.

use std::path::Path;

use ackclock_declare::Library;
use ackclock_scenario::Unloadable;
use pyo3::prelude::*;

use super::PyOwnPart;
use crate::controller::Modules;

/// File name extensions of plug-ins.
const PLUGINS: [&str; 3] = ["so", "dylib", "dll"];

/// True if an entry names a plug-in, in which no Python is called.
pub(crate) fn is_plugin(entry: &str) -> bool {
    Path::new(entry).extension().is_some_and(|suffix| PLUGINS.iter().any(|plugin| suffix == *plugin))
}

/// A function that finds the parts of an entry, looked for in `folder` first.
pub(crate) fn loader(
    folder: &Path,
    modules: Modules,
) -> impl Fn(&str) -> Result<Library, Unloadable> + Send + Sync + use<> {
    let folder = folder.to_owned();
    move |entry| match modules {
        Modules::Read => Err(Unloadable {
            message: "contains code, which is not run here, so its parts are not checked".to_owned(),
            remedy: "use `ackclock validate --load`, which runs it".to_owned(),
        }),
        Modules::Imported if is_plugin(entry) => ackclock_plugin::host::load(&folder.join(entry))
            .map_err(|error| Unloadable { message: error.message, remedy: error.remedy }),
        Modules::Imported => {
            Python::attach(|py| load(py, entry, &folder).map_err(|error| unloadable(error.value(py).as_any(), &error)))
        }
    }
}

fn load(py: Python<'_>, entry: &str, folder: &Path) -> PyResult<Library> {
    let parts: Vec<Py<PyOwnPart>> = py.import("ackclock.parts")?.call_method1("load", (entry, folder))?.extract()?;
    let mut library = Library::default();
    for part in parts {
        library.extend(&part.get().library);
    }
    Ok(library)
}

/// The refusal of an entry: the package's `RefusedError` says what is wrong; any other error blames the module.
fn unloadable(value: &Bound<'_, PyAny>, error: &PyErr) -> Unloadable {
    let text = |name: &str| value.getattr(name).and_then(|text| text.extract::<String>()).ok();
    Unloadable {
        message: text("message").unwrap_or_else(|| format!("cannot be loaded: {error}")),
        remedy: text("remedy").unwrap_or_else(|| "correct the module".to_owned()),
    }
}
