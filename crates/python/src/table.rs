//! Tables as Arrow, by the `PyCapsule` stream protocol: the columns' memory is handed over, not copied.

use std::sync::Arc;

use ackclock_sim::{Column, ColumnData, NO_NAME, Table};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::UInt32Type;
use arrow_array::{
    ArrayRef, BooleanArray, DictionaryArray, Float64Array, RecordBatch, RecordBatchIterator, RecordBatchOptions,
    StringArray, UInt32Array, UInt64Array,
};
use arrow_buffer::{BooleanBuffer, NullBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, Field, Schema};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::errors::to_runtime_error;

/// Columns of equal length for Polars, PyArrow and others to take without copying; units are in their names.
#[pyclass(module = "ackclock._core", name = "Table", frozen)]
#[derive(Clone)]
pub(crate) struct PyTable {
    batch: RecordBatch,
}

impl PyTable {
    pub(crate) fn new(table: Table) -> Result<Self, ArrowError> {
        let arrays: Vec<(String, ArrayRef)> = table
            .columns
            .into_iter()
            .map(|column| Ok((column.name.to_string(), to_array(column)?)))
            .collect::<Result<_, ArrowError>>()?;
        let fields: Vec<Field> =
            arrays.iter().map(|(name, array)| Field::new(name, array.data_type().clone(), true)).collect();
        let columns: Vec<ArrayRef> = arrays.into_iter().map(|(_, array)| array).collect();
        // A table without columns is one without rows.
        let rows = columns.first().map_or(0, |column| column.len());
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        Ok(Self { batch: RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &options)? })
    }
}

#[pymethods]
impl PyTable {
    /// Return the table as an Arrow stream in a capsule (the Arrow PyCapsule interface).
    ///
    /// Args:
    ///     requested_schema: Not used, as the interface allows.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema); // the protocol lets a producer ignore it
        let schema = self.batch.schema();
        let batches = RecordBatchIterator::new([Ok(self.batch.clone())], schema);
        let stream = FFI_ArrowArrayStream::new(Box::new(batches));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream").map_err(to_runtime_error)
    }

    /// Return the number of rows.
    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }
}

fn to_keys(codes: Vec<u32>) -> UInt32Array {
    let known: BooleanBuffer = codes.iter().map(|code| *code != NO_NAME).collect();
    let nulls = (known.count_set_bits() < codes.len()).then(|| NullBuffer::new(known));
    UInt32Array::new(ScalarBuffer::from(codes), nulls)
}

fn to_array(column: Column) -> Result<ArrayRef, ArrowError> {
    Ok(match column.data {
        ColumnData::F64(values) => {
            let known: BooleanBuffer = values.iter().map(|value| !value.is_nan()).collect();
            let nulls = (known.count_set_bits() < values.len()).then(|| NullBuffer::new(known));
            Arc::new(Float64Array::new(ScalarBuffer::from(values), nulls))
        }
        ColumnData::U64(values) => Arc::new(UInt64Array::from(values)),
        ColumnData::MaybeU64(values) => Arc::new(UInt64Array::from(values)),
        ColumnData::MaybeBool(values) => Arc::new(BooleanArray::from(values)),
        ColumnData::Bool(values) => Arc::new(BooleanArray::from(values)),
        ColumnData::Name { codes, names } => {
            Arc::new(DictionaryArray::<UInt32Type>::try_new(to_keys(codes), Arc::new(StringArray::from(names)))?)
        }
    })
}
