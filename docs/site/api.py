"""Pages of the Python reference: which names of the package each has. mkdocstrings reads the rest from the sources."""

from stage import Stage

PAGES = {
    "run": ("Scenarios and runs", "What to simulate, and doing it.", [
        "ackclock.scenario.dumbbells.dumbbell", "ackclock._core.Scenario", "ackclock._core.ScenarioError",
        "ackclock.running.run", "ackclock.running.events.watch", "ackclock.scenario.diagnostics",
    ]),
    "results": ("Results", "What comes out: summaries, tables, folders.", [
        "ackclock.results.Results", "ackclock.results.summaries", "ackclock.results.manifests",
        "ackclock.stats.metrics",
    ]),
    "studies": ("Studies", "Controllers, paths and seeds; means, differences and their intervals.", [
        "ackclock.experiments.studies.study_folder", "ackclock.stats.estimates", "ackclock.plotting.tables.table",
    ]),
    "plots": ("Plots and figures", "Pictures of results, and the forms that studies are drawn in.", [
        "ackclock.plotting.plots", "ackclock.plotting.figures.curves", "ackclock.plotting.figures.planes",
        "ackclock.plotting.figures.matrices",
        "ackclock.plotting.figures.interval_dots", "ackclock.plotting.figures.panel_grid",
        "ackclock.plotting.figures.theme", "ackclock.plotting.figures.figure_files",
    ]),
    "controllers": ("Custom controllers", "The base class of a controller, and its events.", [
        "ackclock.controllers.CongestionController", "ackclock._core.Start", "ackclock._core.AckEvent",
    ]),
    "parts": ("Custom parts", "Queues, effects of links, sources of traffic, observations and rewards.", [
        "ackclock.parts",
    ]),
    "gym": ("Environments", "Flows as environments, for Gymnasium and PettingZoo.", [
        "ackclock.gym.flow.FlowEnv", "ackclock.gym.vector.VectorFlowEnv", "ackclock.gym.parallel.ParallelFlows",
        "ackclock.gym.agent.AgentSettings", "ackclock.gym.agent.Settings",
    ]),
    "claims": ("Claims", "Published statements and runs that check them.", ["ackclock.claims"]),
    "lessons": ("Lessons", "Exercises whose answers are checked, and the laws behind them.", [
        "ackclock.lessons", "ackclock.lessons.exercise", "ackclock.lessons.theory",
    ]),
}  # fmt: skip


def add(stage: Stage, *, with_rust: bool) -> None:
    """Write the pages.

    Args:
        stage: Where to.
        with_rust: Whether the reference of the crates is on the site.
    """
    rows = []
    for page, (title, about, names) in PAGES.items():
        body = "\n\n".join(f"::: {name}" for name in names)
        stage.write(f"api/{page}.md", f"# {title}\n\n{about}\n\n{body}\n")
        rows.append(f"- [{title}]({page}.md): {about}")
    crates = '<a href="../rust/ackclock/index.html">the reference of the crates</a>' if with_rust else "`make docs`"
    text = (
        "# Python reference\n\nFrom the package's own texts, as `help()` and an editor show them. "
        "How to begin: [use it from Python](../how-to/python.md).\n\n" + "\n".join(rows) + "\n\n## Rust\n\n"
        "The crates, with the trait that controllers, queues and sources implement: "
        f"{crates}. How to begin: [a custom controller in Rust](../how-to/own-controller-rust.md).\n"
    )
    stage.write("api/index.md", text)
