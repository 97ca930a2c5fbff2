// Reads Parquet files with DuckDB and compares them with the JSON of the same requests.
//
//   node agree.js FOLDER
//
// The folder has NAME.parquet and NAME.json for each request. It prints a line for each pair, and fails at the first
// difference: a row, a column, a type or a value that the other one does not have.
import { DuckDBInstance } from "@duckdb/node-api";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";

// texts says how a value of each type is written as the JSON has it. Numbers are compared as numbers.
const texts = {
  TIMESTAMP: (column) => `strftime(${column}, '%Y-%m-%dT%H:%M:%S.%gZ')`,
  "TIMESTAMP WITH TIME ZONE": (column) => `strftime(${column} AT TIME ZONE 'UTC', '%Y-%m-%dT%H:%M:%S.%gZ')`,
  DATE: (column) => `strftime(${column}, '%Y-%m-%d')`,
};

const numeric = /^(DECIMAL\(18,9\)|BIGINT|DOUBLE)$/;

async function agree(db, folder, name) {
  const file = join(folder, `${name}.parquet`).replaceAll("'", "''");
  const described = await rows(db, `DESCRIBE SELECT * FROM '${file}'`);
  const columns = described.map(({ column_name: column, column_type: type }) => ({ column, type }));
  const select = columns.map(({ column, type }) => {
    const quoted = `"${column.replaceAll('"', '""')}"`;
    const text = texts[type] ?? ((value) => `CAST(${value} AS VARCHAR)`);
    return `${text(quoted)} AS ${quoted}`;
  });
  const got = await rows(db, `SELECT ${select.join(", ")} FROM '${file}'`);
  const want = rowsOf(JSON.parse(readFileSync(join(folder, `${name}.json`), "utf8")));
  if (got.length !== want.length) {
    throw new Error(`${name}: ${got.length} rows in Parquet, ${want.length} in JSON`);
  }
  want.forEach((row, i) => compare(`${name}, row ${i}`, columns, got[i], flat(row)));
  console.log(`${name}: ${got.length} rows of ${columns.map(({ column, type }) => `${column} ${type}`).join(", ")}`);
}

async function rows(db, sql) {
  return (await db.runAndReadAll(sql)).getRowObjects();
}

// rowsOf are the rows of a response: a list, or one row.
function rowsOf({ data, sites }) {
  const list = sites ?? data;
  return Array.isArray(list) ? list : [list];
}

// flat gives the members of objects inside of a row columns of their own: daily_stats_min_index.
function flat(row) {
  return Object.fromEntries(
    Object.entries(row).flatMap(([name, value]) =>
      value !== null && typeof value === "object" && !Array.isArray(value)
        ? Object.entries(flat(value)).map(([inner, v]) => [`${name}_${inner}`, v])
        : [[name, value]],
    ),
  );
}

function compare(place, columns, got, want) {
  const unknown = Object.keys(want).filter((name) => !columns.some(({ column }) => column === name));
  if (unknown.length > 0) {
    throw new Error(`${place}: Parquet has no column ${unknown.join(", ")}`);
  }
  for (const { column, type } of columns) {
    const value = want[column] ?? null;
    const found = got[column];
    const same =
      value === null || found === null
        ? value === found
        : typeof value === "number"
          ? numeric.test(type) && Number(found) === value
          : !numeric.test(type) && found === (typeof value === "string" ? value : JSON.stringify(value));
    if (!same) {
      throw new Error(`${place}: ${column} is ${found} (${type}) in Parquet and ${value} in JSON`);
    }
  }
}

const folder = process.argv[2];
const names = readdirSync(folder).flatMap((file) => (file.endsWith(".parquet") ? [file.slice(0, -8)] : []));
if (names.length === 0) {
  throw new Error(`${folder} has no Parquet file`);
}
const db = await (await DuckDBInstance.create()).connect();
for (const name of names.sort()) {
  await agree(db, folder, name);
}
