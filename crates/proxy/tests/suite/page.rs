//! The commands and configurations of the pages are written and run here.

use crate::program::{PROXY, run};

/// The blocks of a kind on a page.
pub(crate) fn blocks(page: &str, kind: &str) -> Vec<String> {
    let path = format!("{}/../../docs/{page}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    let mut found = Vec::new();
    let mut rest = text.as_str();
    while let Some((_, after)) = rest.split_once(&format!("```{kind}\n")) {
        let (block, after) = after.split_once("```").expect("a block ends");
        found.push(block.to_owned());
        rest = after;
    }
    found
}

#[test]
fn every_configuration_of_the_pages_is_fine() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("proxy.toml");
    let configurations: Vec<String> =
        ["how-to/run-the-proxy.md", "reference/proxy.md"].iter().flat_map(|page| blocks(page, "conf")).collect();
    assert!(configurations.len() >= 4);
    for text in configurations {
        std::fs::write(&path, &text).unwrap();
        let (code, said) = run(PROXY, &["--check", path.to_str().unwrap()]);
        assert_eq!(code, Some(0), "{text}\n{said}");
    }
}

#[test]
fn the_packaged_configuration_is_fine_and_the_mistake_of_the_page_is_told_as_it_says() {
    let packaged = concat!(env!("CARGO_MANIFEST_DIR"), "/packaging/proxy.toml");
    assert_eq!(run(PROXY, &["--check", packaged]).0, Some(0));
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("wrong.toml"), &blocks("how-to/run-the-proxy.md", "ini")[0]).unwrap();
    let (code, said) = run("sh", &["-c", &format!("cd {} && {PROXY} --check wrong.toml", folder.path().display())]);
    assert_eq!(code, Some(2));
    let shown = &blocks("how-to/run-the-proxy.md", "text")[0];
    // Which controllers there are is the machine's own.
    let told = |text: &str| text.lines().take(3).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(told(&said), told(shown));
}
