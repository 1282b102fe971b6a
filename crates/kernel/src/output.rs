//! Results as files that ackclock's package reads: `summary.json`, `kernel.json`, and each table as a stream of Arrow.

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use ackclock_sim::{Column, ColumnData, NO_NAME, Table};
use arrow_array::types::UInt32Type;
use arrow_array::{
    ArrayRef, BooleanArray, DictionaryArray, Float64Array, RecordBatch, RecordBatchOptions, StringArray, UInt32Array,
    UInt64Array,
};
use arrow_ipc::writer::FileWriter;
use arrow_schema::{ArrowError, Field, Schema};

use crate::run::Outcome;

/// Writes all files into a folder that there is.
pub fn write(outcome: &Outcome, folder: &Path) -> io::Result<()> {
    let text = |value: &serde_json::Value| serde_json::to_string_pretty(value).map(|text| text + "\n");
    std::fs::write(folder.join("summary.json"), text(&serde_json::to_value(&outcome.summary)?)?)?;
    std::fs::write(folder.join("kernel.json"), text(&serde_json::to_value(&outcome.report)?)?)?;
    for (name, table) in tables(outcome) {
        std::fs::write(folder.join(format!("{name}.arrow")), to_arrow(table)?)?;
    }
    for capture in &outcome.captures {
        std::fs::write(folder.join(file_name(&capture.name)), &capture.octets)?;
    }
    Ok(())
}

/// The name of a capture as that of a file, every unusual sign replaced.
fn file_name(name: &str) -> String {
    let usual = |sign: char| if sign.is_ascii_alphanumeric() || "-_.".contains(sign) { sign } else { '_' };
    format!("{}.pcapng", name.chars().map(usual).collect::<String>())
}

/// Writes the outcome as one stream, for a program that reads it, so that nothing is on a disk that could be left
/// there: a line of JSON with `summary`, `kernel` and the lengths in octets of the `tables` and of the `captures`, then
/// the tables and the captures in that order.
pub fn write_stream(outcome: &Outcome, out: &mut impl Write) -> io::Result<()> {
    let (mut lengths, mut octets) = (serde_json::Map::new(), Vec::new());
    for (name, table) in tables(outcome) {
        let arrow = to_arrow(table)?;
        lengths.insert(name.to_owned(), arrow.len().into());
        octets.extend(arrow);
    }
    let captures: Vec<_> = outcome.captures.iter().map(|capture| (&capture.name, capture.octets.len())).collect();
    octets.extend(outcome.captures.iter().flat_map(|capture| &capture.octets));
    let head = serde_json::json!({
        "summary": outcome.summary, "kernel": outcome.report, "tables": lengths, "captures": captures,
    });
    writeln!(out, "{head}")?;
    out.write_all(&octets)?;
    out.flush()
}

fn tables(outcome: &Outcome) -> [(&'static str, &Table); 4] {
    [
        ("flows", &outcome.flows),
        ("links", &outcome.links),
        ("episodes", &outcome.episodes),
        ("completions", &outcome.completions),
    ]
}

/// A table as a file of Arrow.
fn to_arrow(table: &Table) -> io::Result<Vec<u8>> {
    let mut octets = Vec::new();
    write_table(&mut octets, table).map_err(io::Error::other)?;
    Ok(octets)
}

fn write_table(out: &mut Vec<u8>, table: &Table) -> Result<(), ArrowError> {
    let arrays: Vec<ArrayRef> = table.columns.iter().map(to_array).collect::<Result<_, _>>()?;
    let fields = table.columns.iter().zip(&arrays);
    let fields: Vec<Field> =
        fields.map(|(column, array)| Field::new(column.name.to_string(), array.data_type().clone(), true)).collect();
    let schema = Arc::new(Schema::new(fields));
    // A table without columns is one without rows.
    let rows = arrays.first().map_or(0, |array| array.len());
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    let batch = RecordBatch::try_new_with_options(Arc::clone(&schema), arrays, &options)?;
    let mut writer = FileWriter::try_new(out, &schema)?;
    writer.write(&batch)?;
    writer.finish()
}

fn to_array(column: &Column) -> Result<ArrayRef, ArrowError> {
    Ok(match &column.data {
        ColumnData::F64(values) => {
            Arc::new(values.iter().map(|value| (!value.is_nan()).then_some(*value)).collect::<Float64Array>())
        }
        ColumnData::U64(values) => Arc::new(UInt64Array::from(values.clone())),
        ColumnData::MaybeU64(values) => Arc::new(UInt64Array::from(values.clone())),
        ColumnData::MaybeBool(values) => Arc::new(BooleanArray::from(values.clone())),
        ColumnData::Bool(values) => Arc::new(BooleanArray::from(values.clone())),
        ColumnData::Name { codes, names } => {
            let keys: UInt32Array = codes.iter().map(|code| (*code != NO_NAME).then_some(*code)).collect();
            let names = Arc::new(StringArray::from(names.clone()));
            Arc::new(DictionaryArray::<UInt32Type>::try_new(keys, names)?)
        }
    })
}
