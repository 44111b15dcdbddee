import { writeFile } from "node:fs/promises";
import { assertNoArguments, runCommandLine } from "../scripts/command-line";
import { dashboardJson } from "./grafana/dashboard";

const HELP = `Usage: npm run dashboard

Writes deploy/grafana/homeport.json from dev/grafana/panels.ts.`;

runCommandLine(HELP, async (args) => {
  assertNoArguments(args);
  await writeFile("deploy/grafana/homeport.json", dashboardJson());
});
