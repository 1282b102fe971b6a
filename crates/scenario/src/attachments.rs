//! Files that a scenario names: read once, found beside the scenario, checked against their SHA-256.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use ackclock_agent::policy::checkpoint::Checkpoint;
use sha2::{Digest, Sha256};

use crate::diagnostic::Diagnostics;
use crate::file::{
    App, ArrivalsTable, Controller, FlowTable, PolicyParameters, ScenarioFile, SizeTable, Sizes, TextOr,
};
use crate::files::{Attachment, FileSource, Files};
use crate::reading::{MOST_OF_POLICY, MOST_OF_TABLE};
use crate::tree::FieldPath;

/// The mark that some programs write at the beginning of a text.
pub(crate) const BYTE_ORDER_MARK: char = '\u{feff}';

/// The contents of attached files, by their names in the scenario.
#[derive(Clone, Debug, Default)]
pub(crate) struct Attachments {
    texts: BTreeMap<String, Arc<str>>,
    /// The contents of policies, which are not text.
    contents: BTreeMap<String, Arc<[u8]>>,
}

/// A place in a scenario that names a file.
struct Mention<'a> {
    path: FieldPath,
    file: &'a mut Option<String>,
    sha256: &'a mut Option<String>,
    is_text: bool,
}

impl Attachments {
    /// Reads every file that `scenario` names, a relative name from `folder`.
    ///
    /// The scenario then has the name with the folder and the file's SHA-256, so that its own hash covers the content.
    pub(crate) fn read(
        scenario: &mut ScenarioFile,
        folder: &Path,
        files: &mut Files,
        diagnostics: &Diagnostics<'_>,
    ) -> Self {
        let mut attachments = Self::default();
        let flows = scenario.flow.iter_mut().flat_map(|flows| flows.0.iter_mut().enumerate());
        for (index, flow) in flows.filter_map(|(index, flow)| Some((index, flow.as_mut()?))) {
            for mention in mentions(flow, &FieldPath::of("flow").index(index)) {
                attachments.take(mention, folder, files, diagnostics);
            }
        }
        let appliances = scenario.appliance.iter_mut().flat_map(|appliances| appliances.0.iter_mut().enumerate());
        for (index, appliance) in appliances.filter_map(|(index, appliance)| Some((index, appliance.as_mut()?))) {
            let path = FieldPath::of("appliance").index(index);
            for (name, side) in [("near", &mut appliance.near), ("far", &mut appliance.far)] {
                let controller = side.as_mut().map(|side| &mut side.controller);
                let mention = controller.and_then(|controller| mention_of_policy(controller, &path.key(name)));
                if let Some(mention) = mention {
                    attachments.take(mention, folder, files, diagnostics);
                }
            }
        }
        attachments
    }

    fn take(&mut self, mention: Mention<'_>, folder: &Path, files: &mut Files, diagnostics: &Diagnostics<'_>) {
        let Mention { path, file, sha256, is_text } = mention;
        let Some(name) = file.as_mut() else { return };
        let place = folder.join(&name);
        let most = if is_text { MOST_OF_TABLE } else { MOST_OF_POLICY };
        let found = files
            .attachment(&place, |place, source| read(place, source, most))
            .and_then(|attachment| Ok((text(&attachment, is_text)?, attachment)));
        let (text, Attachment { content, sha256: found }) = match found {
            Ok(found) => found,
            Err(error) => {
                let remedy = "check the path; it is taken from the scenario's folder";
                return diagnostics.report(&path, format!("must be a file that can be read: {error}"), remedy);
            }
        };
        if let Some(wanted) = sha256.as_ref().filter(|wanted| !wanted.eq_ignore_ascii_case(&found)) {
            let what = format!("must have the SHA-256 {wanted}, not {found}: it is not the file that it was");
            return diagnostics.report(&path, what, "use the file as it was, or remove sha256");
        }
        *sha256 = Some(found);
        *name = place.to_string_lossy().into_owned();
        if let Some(text) = text {
            self.texts.insert(name.clone(), text);
        } else {
            self.take_data(&path, name, &content, files, diagnostics);
            self.contents.insert(name.clone(), content);
        }
    }

    /// Reads the data file beside the index of a checkpoint, which has the CRC of each variable in it.
    fn take_data(
        &mut self,
        path: &FieldPath,
        index: &str,
        content: &[u8],
        files: &mut Files,
        diagnostics: &Diagnostics<'_>,
    ) {
        let Some(data) = Checkpoint::data_of(index).filter(|_| Checkpoint::is_index(content)) else { return };
        match files.attachment(Path::new(&data), |place, source| read(place, source, MOST_OF_POLICY)) {
            Ok(attachment) => _ = self.contents.insert(data, attachment.content),
            Err(error) => {
                let what = format!("must be a checkpoint whose data can be read, from {data}: {error}");
                diagnostics.report(path, what, "put the data file beside the index");
            }
        }
    }

    /// The content of a policy's file; `None` if reading it failed, which has been reported.
    pub(crate) fn content(&self, name: &str) -> Option<Arc<[u8]>> {
        self.contents.get(name).cloned()
    }

    /// The text of the file; `None` if reading it failed, which has been reported.
    pub(crate) fn text(&self, name: &str) -> Option<Arc<str>> {
        self.texts.get(name).cloned()
    }
}

fn read(place: &Path, source: &FileSource, most: u64) -> std::io::Result<Attachment> {
    let content = source.read(place, most)?;
    let sha256 = hex(&Sha256::digest(&content));
    Ok(Attachment { content: content.into(), sha256 })
}

/// The file as text, where text is expected.
fn text(attachment: &Attachment, is_text: bool) -> std::io::Result<Option<Arc<str>>> {
    if !is_text {
        return Ok(None);
    }
    let text = std::str::from_utf8(&attachment.content).map_err(std::io::Error::other)?;
    Ok(Some(text.trim_start_matches(BYTE_ORDER_MARK).into()))
}

/// The bytes in hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

fn mentions<'a>(flow: &'a mut FlowTable, path: &FieldPath) -> Vec<Mention<'a>> {
    let mut found = Vec::new();
    found.extend(mention_of_policy(&mut flow.controller, path));
    if let Some(ArrivalsTable { size, reply, file, sha256, .. }) = &mut flow.arrivals {
        let path = path.key("arrivals");
        found.extend(mention_of_sizes(size, &path.key("size")));
        found.extend(mention_of_sizes(reply, &path.key("reply")));
        found.push(Mention { path: path.key("file"), file, sha256, is_text: true });
    }
    if let Some(App::RequestResponse(app)) = &mut flow.app {
        found.extend(mention_of_sizes(&mut app.request, &path.key("app.request")));
        found.extend(mention_of_sizes(&mut app.response, &path.key("app.response")));
    }
    found
}

/// The file of a policy; `path` is the place of the table that has the controller.
fn mention_of_policy<'a>(controller: &'a mut Option<Controller>, path: &FieldPath) -> Option<Mention<'a>> {
    let Some(Controller::Policy(PolicyParameters { file, sha256, .. })) = controller else { return None };
    Some(Mention { path: path.key("controller").key("file"), file, sha256, is_text: false })
}

fn mention_of_sizes<'a>(sizes: &'a mut Option<Sizes>, path: &FieldPath) -> Option<Mention<'a>> {
    let Some(TextOr::Table(table)) = sizes else { return None };
    let SizeTable { file, sha256, .. } = &mut **table;
    Some(Mention { path: path.key("file"), file, sha256, is_text: true })
}
