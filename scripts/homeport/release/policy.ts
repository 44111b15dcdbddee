import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { ChangedPolicy, Requirement } from "../../../lib/releases/policy/schema";
import { UsageError } from "../../command-line";
import type { CommandContext, HomeportCommand } from "../command";
import { checked, repeatable } from "../options";
import type { ResultOf } from "../transport/operations";
import type { ReleaseCommand } from "./define-release-command";
import { type FILTER_OPTIONS, resolveFromCaller, toFilter } from "./options";

type Policy = ResultOf<"setReleasePolicy">;
type Options = {
  require?: string[];
  approvals?: string;
  minisignKey?: string[];
  edKey?: string[];
  manifestKey?: string[];
};

const NOTHING = "none";

/** `release policy PRODUCT` */
export function definePolicy(command: HomeportCommand): void {
  const needed = `what releases must have: ${Requirement.options.join(", ")}; may be repeated; ${NOTHING} ends it`;
  const counts = (kind: string) => `a public key for ${kind} whose signatures count; may be repeated`;
  command
    .description("show or set what a product's releases must have to be published, whoever publishes them")
    .addOption(repeatable("--require <requirement>", needed, [...Requirement.options, NOTHING]))
    .option("--approvals <number>", "how many admins other than its publisher must approve a release")
    .addOption(repeatable("--minisign-key <file>", `${counts("Tauri")} (default: the catalog's)`))
    .addOption(repeatable("--ed-key <key>", counts("Sparkle and WinSparkle")))
    .addOption(repeatable("--manifest-key <file>", counts("electron-builder's manifests")))
    .run(policy);
}

async function policy({ api, output }: CommandContext, product: string, options: Options): Promise<void> {
  const body = await changed(options);
  if (Object.keys(body).length > 0) {
    const set = await api.call("setReleasePolicy", { params: { product }, body });
    return output.result(set, linesOf(set));
  }
  const { policies } = await api.call("listReleasePolicies");
  const found = policies.find((one) => one.product === product);
  output.result(found ?? null, found ? linesOf(found) : [`${product} has no policy.`]);
}

const OPTION_OF = {
  requirements: "--require",
  approvals: "--approvals",
  publicKeys: "--minisign-key, --ed-key, --manifest-key",
};

/** @throws UsageError */
async function changed({ require, approvals, minisignKey, edKey, manifestKey }: Options) {
  if (approvals !== undefined && !/^\d{1,2}$/.test(approvals)) throw new UsageError("--approvals must be a number.");
  if (require?.includes(NOTHING) && require.length > 1) throw new UsageError(`--require ${NOTHING} stands alone.`);
  const keys = { minisign: await texts(minisignKey), ed: await texts(edKey), manifest: await texts(manifestKey) };
  const input = {
    ...(require && { requirements: require.filter((one) => one !== NOTHING) }),
    ...(approvals !== undefined && { approvals: Number(approvals) }),
    ...(Object.values(keys).some((given) => given !== undefined) && { publicKeys: keys }),
  };
  return checked(ChangedPolicy, input, OPTION_OF);
}

/** The text of each file, or the argument itself. */
async function texts(given: string[] | undefined): Promise<string[] | undefined> {
  const read = async (one: string) => {
    const file = resolveFromCaller(one);
    return existsSync(file) ? readFile(file, "utf8") : one;
  };
  return given && Promise.all(given.map(read));
}

function linesOf({ product, loosened, pending, refused, ...terms }: Policy): string[] {
  const later = loosened ? [`From ${loosened.at} on: ${describe(loosened)}.`] : [];
  const waiting = pending.map(({ id, approvals }) => `${id} waits: ${approvals} of ${terms.approvals} approvals.`);
  const unknown = refused.map((id) => `${id} is offered to nobody: it was not published through this service.`);
  return [`${product} requires ${describe(terms)}.`, ...later, ...waiting, ...unknown];
}

function describe({ requirements, approvals, publicKeys }: Pick<Policy, "requirements" | "approvals" | "publicKeys">) {
  const approved = approvals === 0 ? [] : [`${approvals} ${approvals === 1 ? "approval" : "approvals"}`];
  const parts = [...requirements, ...approved];
  const keys = publicKeys.length > 0 ? ` (${publicKeys.join(", ")})` : "";
  return parts.length === 0 ? "nothing" : `${parts.join(", ")}${keys}`;
}

/** `release approve RELEASE` */
export const approve: ReleaseCommand<typeof FILTER_OPTIONS> = async (
  { api, hasOwnCatalog, output },
  values,
  positionals,
) => {
  if (hasOwnCatalog) throw new UsageError("approve takes no --catalog: a file has no policy.");
  const approved = await api.call("approveReleases", { body: { filter: toFilter(values, positionals) } });
  const lines = approved.releases.map(({ id, missingApprovals }) =>
    missingApprovals === 0 ? `${id}: offered` : `${id}: approved, ${missingApprovals} missing`,
  );
  output.result(approved, lines);
};
