import { writeFile } from "node:fs/promises";
import { dashboardJson } from "../../dev/grafana/dashboard";
import { assertNoArguments, runCommandLine } from "../command-line";

const HELP = `Usage: npm run dashboard

Writes deploy/grafana/homeport.json from dev/grafana/panels.ts.`;

runCommandLine(HELP, async (args) => {
  assertNoArguments(args);
  await writeFile("deploy/grafana/homeport.json", dashboardJson());
});
