import { UsageError } from "../../command-line";
import { printable } from "../output";
import type { ResultOf } from "../transport/operations";
import type { ReleaseCommand } from "./define-release-command";

export const MIRROR_OPTIONS = {
  verify: { help: "read everything that is on the mirror, and compare it with the catalog" },
} as const;

/** `mirror`: whether the copy at RELEASE_MIRROR is current; with `--verify` whether every byte of it is. */
export const mirror: ReleaseCommand<typeof MIRROR_OPTIONS> = async ({ api, hasOwnCatalog, output }, { verify }) => {
  if (hasOwnCatalog) throw new UsageError("mirror asks the service, which writes the mirror.");
  const state = await api.call("getReleaseMirror");
  if (!verify) return output.result(state, [describe(state)]);
  const problems: ResultOf<"verifyReleaseMirror">["problems"] = [];
  let valid = 0;
  for (let after: string | undefined | null; after !== null; ) {
    const checked = await api.call("verifyReleaseMirror", { body: { after } });
    for (const { path, problem } of checked.problems) console.error(`${printable(path)} ${problem}`);
    problems.push(...checked.problems);
    valid += checked.valid;
    after = checked.next;
  }
  output.result({ valid, invalid: problems.length, problems }, [`${valid} valid, ${problems.length} invalid`]);
  if (problems.length > 0) process.exitCode = 1;
};

function describe({ location, isCurrent, currentAt, pendingFiles, error }: ResultOf<"getReleaseMirror">): string {
  if (isCurrent) return `${location} is current.`;
  const waiting = pendingFiles > 0 ? ` ${pendingFiles} files are still to be copied.` : "";
  const failure = error === null ? "" : ` The last attempt failed: ${printable(error)}`;
  const last = currentAt === null ? "it has not been current yet" : `it was last current ${currentAt}`;
  return `${location} is behind: ${last}.${waiting}${failure}`;
}
