"""`ackclock arrivals`: the TCP flows of a capture, to be replayed."""

from pathlib import Path
from typing import Annotated

import typer

from ackclock.base import storage
from ackclock.base.printable import amount
from ackclock.cli.answers import answer
from ackclock.cli.failures import InputError


def arrivals(
    capture: Annotated[
        Path, typer.Argument(metavar="FILE.pcap", help="Capture: a pcap or pcapng file.", show_default=False)
    ],
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FILE.csv", help="Write the list to this file.")
    ] = Path("arrivals.csv"),
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
) -> None:
    """List the TCP flows of a capture for replay."""
    from ackclock.recording.flow_arrivals import CaptureError, csv_text, flows_of_capture

    storage.check_file(output, force=force)
    try:
        flows = flows_of_capture(capture)
    except (CaptureError, FileNotFoundError, IsADirectoryError) as error:
        raise InputError(str(error)) from error
    if not flows:
        raise InputError(f"{capture} has no TCP flow that carried data; capture both directions of some")
    storage.write_file(output, csv_text(flows).encode())
    there, back = sum(flow.size_bytes for flow in flows), sum(flow.reply_bytes for flow in flows)
    answer(file=str(output), flows=len(flows), last_start_s=flows[-1].start_s, bytes_there=there, bytes_back=back)
    print(
        f"{output}: {amount(len(flows), 'flow')} in {flows[-1].start_s:.3f} s, {there:,} bytes there and {back:,} back"
    )
