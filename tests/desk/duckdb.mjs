// Asks DuckDB: node duckdb.mjs FOLDER-OF-NPM SQL FILES QUERY... A line of JSON for each query.
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

const [folder, sql, files, ...queries] = process.argv.slice(2);
const { DuckDBInstance } = createRequire(path.join(folder, "node_modules", "/"))("@duckdb/node-api");
const connection = await (await DuckDBInstance.create(":memory:")).connect();
await connection.run(`SET VARIABLE files = '${files}'`);
await connection.run(fs.readFileSync(sql, "utf8"));
for (const query of queries) {
  const reader = await connection.runAndReadAll(query);
  console.log(JSON.stringify(reader.getRowObjectsJson()));
}
