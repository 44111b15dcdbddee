import { parseArgs } from "node:util";
import { runCommandLine, UsageError } from "../scripts/command-line";
import { ASSUMPTIONS, type Assumptions } from "./capacity/assumptions";
import { assumptionsTable, CLIENTS, capacityTable } from "./capacity/table";
import { readPublished } from "./report/published";

const NAMES = Object.keys(ASSUMPTIONS) as (keyof Assumptions)[];
const HELP = `Usage: npm run capacity [-- --clients NUMBER... --NAME VALUE...]

Prints what so many installed desktop clients need: instances, PostgreSQL, storage and traffic. Computes it from the costs
in bench/published.json and from assumptions, each of which an option replaces:
${NAMES.map((name) => `  --${name} ${ASSUMPTIONS[name].value}  ${ASSUMPTIONS[name].text}`).join("\n")}`;

async function main(args: string[]): Promise<void> {
  const names = Object.fromEntries(NAMES.map((name) => [name, { type: "string" } as const]));
  const { values } = parseArgs({ args, options: { ...names, clients: { type: "string", multiple: true } } });
  const clients = values.clients?.map((text) => toNumber("clients", text)) ?? CLIENTS;
  const given = values as Record<string, string | undefined>;
  const replaced = NAMES.map((name) => {
    const { text, value } = ASSUMPTIONS[name];
    return [name, { text, value: given[name] === undefined ? value : toNumber(name, given[name]) }];
  });
  const assumptions = Object.fromEntries(replaced) as Assumptions;
  console.log(`${capacityTable(readPublished(), clients, assumptions)}\n\n${assumptionsTable(assumptions)}`);
}

function toNumber(option: string, text: string): number {
  const number = Number(text.replaceAll(",", ""));
  if (!(number > 0)) throw new UsageError(`--${option} must be a number above 0.`);
  return number;
}

runCommandLine(HELP, main);
