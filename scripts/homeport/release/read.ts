import { renderTable } from "../../../lib/releases/publishing/list";
import type { VerifyResult } from "../../../lib/releases/publishing/verify";
import { describeRollout } from "../../../lib/releases/rollouts/list-rollouts";
import type { ReleaseCommand } from "./define-release-command";
import { FILTER_OPTIONS, toFilter } from "./options";
import { readRollouts } from "./read-rollouts";

/** `list` */
export const list: ReleaseCommand<typeof FILTER_OPTIONS> = async (
  { api, hasOwnCatalog, openStore, output },
  values,
) => {
  const store = await openStore();
  const releases = await store.list(toFilter(values));
  if (releases.length === 0) console.error("No releases found.");
  const rollouts = releases.length > 0 && !hasOwnCatalog ? await readRollouts(api) : new Map();
  const scheduled = releases.filter(({ id }) => rollouts.has(id));
  output.result(
    releases.map((release) => ({ ...release, schedule: rollouts.get(release.id) ?? null })),
    [
      ...(releases.length > 0 ? [renderTable(releases)] : []),
      ...scheduled.map(({ id }) => `${id}: ${describeRollout(rollouts.get(id))}`),
    ],
  );
};

export const VERIFY_OPTIONS = {
  remote: { help: "also download and check files at URLs and in object storage" },
  ...FILTER_OPTIONS,
} as const;

/** `verify` */
export const verify: ReleaseCommand<typeof VERIFY_OPTIONS> = async ({ openStore, output }, values) => {
  const store = await openStore();
  const all: VerifyResult[] = [];
  for await (const result of store.verify(toFilter(values), { shouldVerifyRemote: values.remote ?? false })) {
    all.push(result);
    const { id, kinds, location, problem } = result;
    if (problem !== null) console.error(`${id}${kinds.map((kind) => `, ${kind}`).join("")}, ${location}: ${problem}`);
  }
  const problems = all.filter(({ problem }) => problem !== null);
  const counts = { valid: all.length - problems.length, invalid: problems.length };
  output.result({ ...counts, problems }, [`${counts.valid} valid, ${counts.invalid} invalid`]);
  if (counts.invalid > 0) process.exitCode = 1;
};
