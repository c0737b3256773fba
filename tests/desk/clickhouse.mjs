// Asks ClickHouse, within this process: node clickhouse.mjs FOLDER-OF-NPM SQL LINES QUERY... An array
// of JSON for each query.
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

const [folder, sql, lines, ...queries] = process.argv.slice(2);
const { Session } = createRequire(path.join(folder, "node_modules", "/"))("chdb");
const session = new Session();
const statements = fs.readFileSync(sql, "utf8").replace(/^\s*--.*$/gm, "").split(/;\s*$/m);
for (const statement of statements.filter((each) => each.trim())) session.query(statement);
session.query(`INSERT INTO smcr_lines SELECT * FROM file('${lines}', JSONEachRow)`);
for (const query of queries) {
  const rows = String(session.query(query, "JSONEachRow")).split("\n").filter(Boolean);
  console.log(`[${rows.join(",")}]`);
}
session.cleanup();
