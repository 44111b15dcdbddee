import type { PruneResult } from "../../../lib/admin/releases/prune";
import type { RemoveResult } from "../../../lib/admin/releases/remove";
import { CodedError, UsageError } from "../../command-line";
import type { Command } from "./command";
import { FILTER_OPTIONS, flag, parseAge, parseInteger, parseOptions, text, toFilter } from "./options";
import { confirm, formatBytes, isInteractive, type Output } from "./output";

const CONFIRM_OPTIONS = { "dry-run": flag, yes: flag } as const;

/** `remove RELEASE` */
export const remove: Command = async (args, open) => {
  const { values, positionals } = parseOptions({ ...FILTER_OPTIONS, ...CONFIRM_OPTIONS, force: flag }, args, true);
  const { store, output } = await open(values);
  const isForced = values.force ?? false;
  const run = (isDryRun: boolean) => store.remove(toFilter(values, positionals), { isForced, isDryRun });
  await runConfirmed(output, values, run);
};

/** `prune --keep N --older-than AGE` */
export const prune: Command = async (args, open) => {
  const options = { ...FILTER_OPTIONS, ...CONFIRM_OPTIONS, keep: text, "older-than": text };
  const { values } = parseOptions(options, args, false);
  if (values.version !== undefined) throw new UsageError("prune takes no --version: use remove.");
  const keep = parseInteger(values.keep, "--keep");
  const ageMs = parseAge(values["older-than"]);
  const publishedBefore = ageMs === undefined ? undefined : new Date(Date.now() - ageMs);
  const { store, output } = await open(values);
  const run = (isDryRun: boolean) => store.prune(toFilter(values), { keep, publishedBefore, isDryRun });
  await runConfirmed(output, values, run);
};

type Removed = RemoveResult & Partial<Pick<PruneResult, "freedBytes">>;

/** Shows what would be removed, and removes it if that is confirmed: at a terminal, or by --yes. */
async function runConfirmed(
  output: Output,
  { "dry-run": isDryRun = false, yes = false }: { "dry-run"?: boolean; yes?: boolean },
  run: (isDryRun: boolean) => Promise<Removed>,
): Promise<void> {
  if (!yes || isDryRun) {
    const planned = await run(true);
    const isNothing = planned.releases.length + planned.files.length === 0;
    if (isDryRun || isNothing) return output.result({ dryRun: true, ...planned }, linesOf(planned, "Would remove"));
    for (const line of linesOf(planned, "Would remove")) console.error(line);
    if (!isInteractive()) throw new CodedError("confirmation_required", "Nothing was removed: confirm with --yes.");
    if (!(await confirm("Remove this?"))) throw new CodedError("confirmation_required", "Nothing was removed.");
  }
  const removed = await run(false);
  output.result({ dryRun: false, ...removed }, linesOf(removed, "Removed"));
}

function linesOf({ releases, files, freedBytes, elsewhere }: Removed, verb: string): string[] {
  if (releases.length + files.length === 0) return ["Nothing to remove."];
  const size = freedBytes === undefined ? "" : ` (${formatBytes(freedBytes)})`;
  return [
    ...releases.map((id) => `${verb} ${id}`),
    ...files.map((file) => `${verb} the file ${file}`),
    `${releases.length} releases, ${files.length} files${size}`,
    ...elsewhere.map((location) => `Not removed, because it is not in the catalog's folder: ${location}`),
  ];
}
