import path from "node:path";
import { selectReleases } from "../../../lib/releases/publishing/filter-releases";
import { alignColumns, type ReleaseDocument, renderTable } from "../../../lib/releases/publishing/list";
import { describePublisher } from "../../../lib/releases/publishing/published-by";
import type { VerifyResult } from "../../../lib/releases/publishing/verify";
import { UsageError } from "../../command-line";
import { formatBytes, printable } from "../output";
import type { ResultOf } from "../transport/operations";
import type { ReleaseCommand } from "./define-release-command";
import { parseTarget, TARGET_OPTIONS } from "./draft";
import { FILTER_OPTIONS, toFilter } from "./options";

export const list: ReleaseCommand<typeof FILTER_OPTIONS> = async (
  { api, hasOwnCatalog, openStore, output },
  values,
) => {
  const store = await openStore();
  const releases = await store.list(toFilter(values));
  if (releases.length === 0) console.error("No releases found.");
  const { rollouts } = releases.length > 0 && !hasOwnCatalog ? await api.call("listRollouts") : { rollouts: [] };
  const scheduleOf = new Map(rollouts.flatMap((rollout) => rollout.releaseIds.map((id) => [id, rollout] as const)));
  const withSchedules = releases.map((release) => ({ ...release, schedule: scheduleOf.get(release.id) ?? null }));
  output.result(withSchedules, [
    ...(releases.length > 0 ? [renderTable(releases)] : []),
    ...withSchedules.flatMap(({ id, schedule }) => (schedule ? [`${id}: ${describeRollout(schedule)}`] : [])),
  ]);
};

type Rollout = ResultOf<"listRollouts">["rollouts"][number];

/** A schedule in a few words: "20% (step 2 of 4)", or why it was halted. */
function describeRollout({ state, rollout, steps, step, startsAt, haltReason }: Rollout): string {
  const position = `step ${step + 1} of ${steps.length}`;
  if (state === "scheduled") return `starts at ${startsAt}`;
  if (state === "halted") return `halted at ${position}: ${haltReason}`;
  return state === "completed" ? `${rollout}%` : `${rollout}% (${position})`;
}

export const URL_OPTIONS = TARGET_OPTIONS;

/** `urls FILE --product P --platform P --arch A --version V`; without a file, the folder of all files of the release. */
export const urls: ReleaseCommand<typeof URL_OPTIONS> = async ({ api, hasOwnCatalog, output }, values, files) => {
  if (hasOwnCatalog) throw new UsageError("urls asks the service, whose URL a catalog does not have.");
  const target = parseTarget("urls", values);
  const names = files.length === 0 ? [undefined] : files.map((file) => path.basename(file));
  const found: string[] = [];
  for (const fileName of names) found.push((await api.call("getFileUrl", { query: { ...target, fileName } })).url);
  output.result({ urls: found }, found);
};

export const show: ReleaseCommand<typeof FILTER_OPTIONS> = async ({ openStore, output }, values, selectors) => {
  const store = await openStore();
  const releases = selectReleases(await store.list(toFilter(values)), toFilter(values, selectors));
  output.result(
    releases,
    releases.flatMap((release, i) => [...(i > 0 ? [""] : []), renderTable([release]), "", renderFacts(release)]),
  );
};

/** Who published a release, and its files. */
function renderFacts({ publishedBy, artifacts: { installer, update, others, deltas } }: ReleaseDocument): string {
  const { source } = publishedBy ?? {};
  const files = [installer, update, ...others, ...deltas].filter((file) => file !== undefined);
  const byName = new Map(files.map((file) => [file.fileName, file]));
  const rows = [
    ["Published by", publishedBy ? describePublisher(publishedBy) : "unknown"],
    ...(source ? [["Commit", `${source.commit} of ${source.repository}`]] : []),
    ...(source ? [["Ref", source.ref]] : []),
    ...(source?.runUrl ? [["Run", source.runUrl]] : []),
    ...[...byName.values()].map(({ fileName, sizeBytes, sha256 }) => [
      "File",
      `${fileName}, ${formatBytes(sizeBytes)}, SHA-256 ${sha256}`,
    ]),
  ];
  return alignColumns(rows.map((row) => row.map(printable)));
}

export const VERIFY_OPTIONS = {
  remote: { help: "also download and check files at URLs and in object storage" },
  ...FILTER_OPTIONS,
} as const;

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
