//! Results as files that ackclock's package reads: `summary.json`, `kernel.json`, and each table as a stream of Arrow.

use std::fs::File;
use std::io::{self, BufWriter};
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
use serde::Serialize;

use crate::run::Outcome;

/// Writes all files into a folder that there is.
pub fn write(outcome: &Outcome, folder: &Path) -> io::Result<()> {
    write_json(&folder.join("summary.json"), &outcome.summary)?;
    write_json(&folder.join("kernel.json"), &outcome.report)?;
    let tables = [
        ("flows", &outcome.flows),
        ("links", &outcome.links),
        ("episodes", &outcome.episodes),
        ("completions", &outcome.completions),
    ];
    for (name, table) in tables {
        write_table(&folder.join(format!("{name}.arrow")), table).map_err(io::Error::other)?;
    }
    Ok(())
}

fn write_json(path: &Path, value: &impl Serialize) -> io::Result<()> {
    let text = serde_json::to_string_pretty(value)?;
    std::fs::write(path, text + "\n")
}

fn write_table(path: &Path, table: &Table) -> Result<(), ArrowError> {
    let arrays: Vec<ArrayRef> = table.columns.iter().map(to_array).collect::<Result<_, _>>()?;
    let fields = table.columns.iter().zip(&arrays);
    let fields: Vec<Field> =
        fields.map(|(column, array)| Field::new(column.name.to_string(), array.data_type().clone(), true)).collect();
    let schema = Arc::new(Schema::new(fields));
    // A table without columns is one without rows.
    let rows = arrays.first().map_or(0, |array| array.len());
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    let batch = RecordBatch::try_new_with_options(Arc::clone(&schema), arrays, &options)?;
    let mut writer = FileWriter::try_new(BufWriter::new(File::create(path)?), &schema)?;
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
