import { z } from "zod";
import { operation } from "../../operation";
import { ifMatch } from "../../platform/http/content/conditional";
import { CATALOG_ERRORS, CHANGE_ERRORS, READS } from "../publishing/operations";
import { versionPath } from "../publishing/release-action";
import { approveReleases, listPolicies, setPolicy } from "./manage-policies";
import { Approval, ApprovedReleases, ChangedPolicy, Policies, Policy, PolicyParams, Requirement } from "./schema";

const POLICY = {
  product: "core",
  requirements: ["publisher", "signature"],
  approvals: 1,
  publicKeys: ["ed:pfIShU4dEXqPd5ObYNfDBiQWcXozk7estwzTnF9BamQ="],
  loosened: null,
  pending: [{ id: "core-macos-universal-2.3.0", version: "2.3.0", channel: "stable", approvals: 0 }],
  refused: [],
};

const text = z.string().max(256);

/** `previewed`: the state of the policy that the page has shown. */
const PolicyForm = z.object({
  product: PolicyParams.shape.product,
  ...(Object.fromEntries(Requirement.options.map((one) => [one, text.optional()])) as Record<
    Requirement,
    z.ZodOptional<z.ZodString>
  >),
  approvals: z.coerce.number().pipe(ChangedPolicy.shape.approvals.unwrap()),
  previewed: text,
});

/** `previewed`: the state of the version that the page has shown. */
const ApprovalForm = z.object({ product: text, channel: text, version: text, previewed: text });

const OVERWRITTEN = "Somebody else has changed this policy since you opened the page. Reload it to see their change.";
const NO_KEY = "The catalog has no public key of this product. Name one with `homeport release policy`.";

/** Only people change policies and approve releases. */
const DECIDES = { role: "admin", stepUp: true } as const;

export const policyOperations = {
  listReleasePolicies: operation({
    id: "listReleasePolicies",
    summary: "List the policies of products",
    description:
      "Lists what the releases of each product must have to be published, which releases wait for approvals, and which ones the catalog has although they were not published here. A product without a policy is not listed.",
    ...READS,
    errors: [...CATALOG_ERRORS, "catalog_unavailable"],
    response: { description: "The policies.", schema: Policies, examples: { "One product": { policies: [POLICY] } } },
    run: ({ ctx, operator }) => listPolicies(ctx, operator),
  }),

  setReleasePolicy: operation({
    id: "setReleasePolicy",
    summary: "Set the policy of a product",
    description:
      "Sets what the releases of a product must have to be published, whoever publishes them: a `signature` of each file, a trusted `publisher`, an `attestation` of each file, and approvals. The first policy admits the releases that are in the catalog. From then on no file is offered that was not published through the service as the policy requires. What tightens a policy applies at once. What loosens it, or adds a key whose signatures count, applies after 24 hours, and every admin gets an email about it. Fields that are left out stay.",
    ...DECIDES,
    headers: ["IfMatchState"],
    params: PolicyParams,
    body: ChangedPolicy,
    errors: [...CHANGE_ERRORS, "precondition_failed"],
    examples: {
      "Signed, from CI": { requirements: ["signature", "publisher"] },
      "A second pair of eyes": { approvals: 1 },
      "No policy, after a day": { requirements: [], approvals: 0 },
    },
    response: { description: "The policy.", schema: Policy, examples: { "A policy": POLICY } },
    run: ({ ctx, operator, params, body, request }) => setPolicy(ctx, operator, params.product, body, ifMatch(request)),
    form: {
      fields: PolicyForm,
      toInput: ({ product, approvals, previewed, ...checked }) => {
        const requirements = Requirement.options.filter((one) => checked[one] === "on");
        return { params: { product }, body: { requirements, approvals }, ifMatch: `"${previewed}"` };
      },
      kept: [...Requirement.options, "approvals"],
      errors: { validation_failed: { message: NO_KEY }, precondition_failed: { message: OVERWRITTEN } },
      after: ({ product, loosened }) => ({
        done: loosened ? "loosened" : "set",
        to: `/console/releases/policy?${new URLSearchParams({ product })}`,
      }),
    },
  }),

  approveReleases: operation({
    id: "approveReleases",
    summary: "Approve releases",
    description:
      "Approves the releases that the filter selects and that wait for approvals: all of them or none. Whoever published a release, or created the API key that did, cannot approve it; nor can whoever became an admin less than 24 hours ago, unless at the command line of the service. An approval counts once. Yanking, halting and rolling back need none.",
    ...DECIDES,
    headers: ["IfMatchState"],
    body: Approval,
    errors: [...CHANGE_ERRORS, "release_not_found", "release_yanked", "policy_unmet", "precondition_failed"],
    examples: { "A version": { filter: { product: "core", version: "2.3.0" } } },
    response: {
      description: "What was approved.",
      schema: ApprovedReleases,
      examples: {
        Approved: { releases: [{ id: "core-macos-universal-2.3.0", outcome: "approved", missingApprovals: 0 }] },
      },
    },
    run: ({ ctx, operator, body, request }) => approveReleases(ctx, operator, body, ifMatch(request)),
    form: {
      fields: ApprovalForm,
      toInput: ({ previewed, ...filter }) => ({ body: { filter }, ifMatch: `"${previewed}"` }),
      after: ({ releases }, version) => ({
        done: releases.some(({ missingApprovals }) => missingApprovals > 0) ? "approved_once" : "approved",
        to: versionPath(version),
      }),
    },
  }),
};
