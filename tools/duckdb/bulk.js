// Reads the files that `assay download` has fetched with DuckDB, and compares them with the JSON of the API.
//
//   node bulk.js FOLDER TARGETS
//
// TARGETS has a file "DATASET MONTH SERIES….json" for each comparison: the response with the rows of one series in one
// month. It prints a line for each, and fails at the first difference.
import { DuckDBInstance } from "@duckdb/node-api";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";

// The columns that name a series, and the one that orders its rows.
const series = {
  "gpu-hourly": [["gpu_type", "region"], "timestamp"],
  "gpu-daily": [["gpu_type", "region"], "timestamp"],
  "gpu-utilization": [["gpu_type", "region"], "recorded_at"],
  "memory-daily": [["id"], "date"],
  otpi: [["lab"], "date"],
  workload: [["lab", "family"], "date"],
  "workload-daily": [["lab", "family"], "date"],
  coding: [["product"], "date"],
};

// Text that the JSON has for a value.
const texts = {
  "TIMESTAMP WITH TIME ZONE": (column) => `strftime(${column} AT TIME ZONE 'UTC', '%Y-%m-%dT%H:%M:%S.%gZ')`,
  DATE: (column) => `strftime(${column}, '%Y-%m-%d')`,
};

const quoted = (text) => `'${text.replaceAll("'", "''")}'`;

async function compare(db, folder, dataset, month, file, want) {
  const [names, order] = series[dataset];
  const from = `read_parquet(${quoted(join(folder, dataset, `${dataset}-${month}-*.parquet`))})`;
  const columns = await rows(db, `DESCRIBE SELECT * FROM ${from}`);
  const select = columns.map(({ column_name: name, column_type: type }) => `${texts[type]?.(`"${name}"`) ?? `"${name}"`} AS "${name}"`);
  const where = names.map((name, i) => `"${name}" = ${quoted(file[i])}`).join(" AND ");
  const got = await rows(db, `SELECT ${select.join(", ")} FROM ${from} WHERE ${where} ORDER BY "${order}"`);
  if (got.length !== want.length || want.length === 0) {
    throw new Error(`${dataset} ${file}: ${got.length} rows in Parquet, ${want.length} in JSON`);
  }
  want.forEach((row, i) => {
    for (const [name, value] of Object.entries(row)) {
      const found = got[i][name];
      const same = typeof value === "number" ? Number(found) === value : found === value;
      if (!same) {
        throw new Error(`${dataset} ${file}, row ${i}: ${name} is ${found} in Parquet and ${value} in JSON`);
      }
    }
  });
  console.log(`${dataset} ${month} ${file.join(" ")}: ${got.length} rows`);
}

async function rows(db, sql) {
  return (await db.runAndReadAll(sql)).getRowObjects();
}

const [folder, targets] = process.argv.slice(2);
const db = await (await DuckDBInstance.create()).connect();
for (const name of readdirSync(targets).sort()) {
  const [dataset, month, ...words] = name.replace(/\.json$/, "").split(" ");
  const count = series[dataset][0].length;
  const file = count === 1 ? [words.join(" ")] : [words.slice(0, -1).join(" "), words.at(-1)];
  await compare(db, folder, dataset, month, file, JSON.parse(readFileSync(join(targets, name), "utf8")).data);
}
