import { findDifferences } from "../../../auth/publishers/match-claims";
import { publishersOf } from "../../../auth/publishers/publishers";
import type { Context } from "../../../context";
import { readDatabaseTime } from "../../../platform/db/clock";
import type { BuildSource } from "../../../principal";
import { isTrusted, termsAt } from "../../policy/terms";
import type { BuildIdentity } from "./verify-attestation";

/** What a file is published as. `source`: what the CI job that publishes it says it has built; null: nothing does. */
export type PublishedAs = { product: string; channel: string; source: BuildSource | null };

/**
 * How a build differs from those of the product's publishers; null: one of them made it. The environment is not compared:
 * it is of the job that publishes, and another one may have built. If the product's policy requires attestations, a new
 * publisher counts a day after it was added.
 */
export async function findBuildDifference(
  deps: Pick<Context, "db" | "dbNow">,
  { product, channel, source }: PublishedAs,
  identity: BuildIdentity,
): Promise<string | null> {
  const publishers = (await publishersOf(deps, product)).filter(
    (one) => one.issuer === identity.issuer && (one.channel ?? channel) === channel,
  );
  const isCounted = await trustedBy(deps, product);
  const counted = publishers.filter(isCounted);
  const [closest] = counted
    .map((publisher) => findDifferences({ ...publisher, environment: null }, claimsOf(identity)))
    .sort((a, b) => a.length - b.length);
  const by = `it is by ${identity.signer}`;
  if (!closest && publishers.length > 0)
    return `${by}, and ${product}'s policy counts a publisher 24 hours after it was added`;
  if (!closest) return `${by}, which is no publisher of ${product} on the channel ${channel}`;
  const [difference] = closest;
  if (difference) {
    const { claim, expected, actual } = difference;
    return `${by}, and ${claim} must be ${expected} for a publisher of ${product}, not ${actual}`;
  }
  if (source === null || source.commit === identity.commit) return null;
  return `it is of the commit ${identity.commit}, and the job that publishes is of ${source.commit}`;
}

async function trustedBy(deps: Pick<Context, "db" | "dbNow">, product: string) {
  const policy = await deps.db.releasePolicy.findUnique({ where: { product } });
  const at = await readDatabaseTime(deps);
  const isRequired = policy !== null && termsAt(policy, at).requirements.includes("attestation");
  return (publisher: { createdAt: Date }) => !isRequired || isTrusted(publisher, policy, at);
}

/** The claims of the ID token that Fulcio made the certificate of, with their names at GitHub and at GitLab. */
function claimsOf(identity: BuildIdentity) {
  const { issuer, signer, workflow, repository, repositoryId, ownerId, ref, commit, trigger, subject } = identity;
  const path = (uri: string | null) => uri?.replace(/^https:\/\/[^/]+\//, "");
  return {
    sub: subject ?? undefined,
    sha: commit,
    repository: path(repository),
    repository_id: repositoryId,
    repository_owner_id: ownerId,
    job_workflow_ref: path(signer),
    workflow_ref: path(workflow),
    ref,
    event_name: trigger,
    project_path: repository?.startsWith(`${issuer}/`) ? repository.slice(`${issuer}/`.length) : undefined,
    project_id: repositoryId,
    namespace_id: ownerId,
    ci_config_ref_uri: signer?.replace(/^https:\/\//, ""),
    ref_path: ref,
    pipeline_source: trigger,
  };
}
