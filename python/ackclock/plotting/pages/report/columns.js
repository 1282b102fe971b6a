// The numbers of the page: `ackclock/plotting/report/packed_columns.py` wrote them, and each is read when a plot first needs it.
const known = new Map();

// A column as numbers, NaN where there is none.
function column(place) {
  if (!known.has(place)) known.set(place, unpacked(content.columns[place]));
  return known.get(place);
}

async function unpacked({ n, w, low, step, z }) {
  const packed = Uint8Array.from(atob(z), sign => sign.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  const planes = new Uint8Array(await new Response(stream).arrayBuffer());
  const values = new Float64Array(n), range = 2 ** (8 * w);
  let level = 0;
  for (let i = 0; i < n; i++) {
    let difference = 0;
    for (let plane = w - 1; plane >= 0; plane--) difference = difference * 256 + planes[plane * n + i];
    level = (level + difference) % range;
    values[i] = w === 2 && level === 65535 ? NaN : low + level * step;
  }
  return values;
}

// The first place in ascending numbers that is no less than a value.
function placeOf(values, value) {
  let low = 0, high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] < value) low = middle + 1; else high = middle;
  }
  return low;
}

// All times of several columns, each once.
function union(columns) {
  const different = [...new Set(columns)];
  if (different.length === 1) return different[0];
  const every = new Float64Array(different.reduce((sum, one) => sum + one.length, 0));
  let at = 0;
  for (const one of different) { every.set(one, at); at += one.length; }
  every.sort();
  return every.filter((value, i) => i === 0 || value !== every[i - 1]);
}

// Values on a grid of times that has all of theirs: undefined where they have no sample, null where nothing is known.
function onto(grid, times, values, factor) {
  const found = new Array(grid.length);
  let at = 0;
  for (let i = 0; i < grid.length && at < times.length; i++) {
    if (grid[i] !== times[at]) continue;
    found[i] = Number.isNaN(values[at]) ? null : values[at] * factor;
    at++;
  }
  return found;
}

// Sum or mean of several lines on a grid, each line's last value holding until its next, from its first to its last.
function together(grid, lines, isSum) {
  const sum = new Float64Array(grid.length), count = new Uint32Array(grid.length);
  for (const { times, values } of lines) {
    if (!times.length) continue;
    const end = times[times.length - 1];
    let at = -1;
    for (let i = placeOf(grid, times[0]); i < grid.length && grid[i] <= end; i++) {
      while (at + 1 < times.length && times[at + 1] <= grid[i]) at++;
      if (Number.isNaN(values[at])) continue;
      sum[i] += values[at];
      count[i]++;
    }
  }
  return Array.from(sum, (value, i) => (count[i] ? (isSum ? value : value / count[i]) : null));
}

// Means of so many samples after each other; of the last sample the time.
function averaged(grid, rows, size) {
  if (size <= 1) return [grid, ...rows];
  const blocks = Math.ceil(grid.length / size);
  const times = Array.from({ length: blocks }, (_, i) => grid[Math.min(grid.length, (i + 1) * size) - 1]);
  return [times, ...rows.map(row => times.map((_, block) => meanOf(row, block * size, (block + 1) * size)))];
}

function meanOf(row, from, to) {
  let sum = 0, count = 0;
  for (let i = from; i < to && i < row.length; i++) if (row[i] != null) { sum += row[i]; count++; }
  return count ? sum / count : row[from] === null ? null : undefined;
}
