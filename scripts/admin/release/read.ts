import { renderTable } from "../../../lib/admin/releases/list";
import { describeRollout } from "../../../lib/admin/releases/rollouts/list-rollouts";
import type { VerifyResult } from "../../../lib/admin/releases/verify";
import { readRollouts } from "../rollout/read-rollouts";
import type { Command } from "./command";
import { FILTER_OPTIONS, flag, parseOptions, toFilter } from "./options";

/** `list` */
export const list: Command = async (args, open) => {
  const { values } = parseOptions(FILTER_OPTIONS, args, false);
  const { store, output } = await open(values);
  const releases = await store.list(toFilter(values));
  if (releases.length === 0) console.error("No releases found.");
  const rollouts = releases.length > 0 && !store.isRemote ? await readRollouts() : new Map();
  const scheduled = releases.filter(({ id }) => rollouts.has(id));
  output.result(
    releases.map((release) => ({ ...release, schedule: rollouts.get(release.id) ?? null })),
    [
      ...(releases.length > 0 ? [renderTable(releases)] : []),
      ...scheduled.map(({ id }) => `${id}: ${describeRollout(rollouts.get(id))}`),
    ],
  );
};

/** `verify` */
export const verify: Command = async (args, open) => {
  const { values } = parseOptions({ ...FILTER_OPTIONS, remote: flag }, args, false);
  const { store, output } = await open(values);
  const all: VerifyResult[] = [];
  for await (const result of store.verify(toFilter(values), { remote: values.remote ?? false })) {
    all.push(result);
    const { id, kinds, location, problem } = result;
    if (problem !== null) console.error(`${id}${kinds.map((kind) => `, ${kind}`).join("")}, ${location}: ${problem}`);
  }
  const problems = all.filter(({ problem }) => problem !== null);
  const counts = { valid: all.length - problems.length, invalid: problems.length };
  output.result({ ...counts, problems }, [`${counts.valid} valid, ${counts.invalid} invalid`]);
  if (counts.invalid > 0) process.exitCode = 1;
};
