import { z } from "zod";
import { catalogFileOf } from "@/lib/releases/catalog/catalog";
import { listPolicies, policyState } from "@/lib/releases/policy/manage-policies";
import { policyOperations } from "@/lib/releases/policy/operations";
import { type Policy, PolicyParams, Requirement } from "@/lib/releases/policy/schema";
import { Field } from "../../../(web)/components/field";
import { Notice } from "../../../(web)/components/notice";
import { type Fact, Facts } from "../../components/facts";
import { PageHead, Section } from "../../components/headings";
import { OperationForm } from "../../components/operation-form";
import { ExactTime } from "../../components/time";
import { consolePage } from "../../frame/console-page";
import { hasRole } from "../../frame/operator";
import { ReadOnlyNotice } from "../version-state";

export const metadata = { title: "Release policy" };

const REQUIREMENTS: Record<Requirement, string> = {
  signature: "A signature of each file by one of the product’s keys",
  publisher: "A CI job of a trusted publisher",
  attestation: "A Sigstore attestation of each file",
};

const NO_TERMS: Terms = { requirements: [], approvals: 0, publicKeys: [] };

export default consolePage(
  {
    query: z.object({ product: PolicyParams.shape.product.default("core") }),
    done: {
      set: "The policy applies.",
      loosened: "What is stricter applies. What is looser applies in 24 hours, and every admin gets an email.",
    },
    ownForms: [policyOperations.setReleasePolicy],
  },
  async ({ ctx, operator, query: { product }, flash }) => {
    const { policies } = await listPolicies(ctx, {});
    const policy = policies.find((one) => one.product === product);
    const terms: Terms = policy ?? NO_TERMS;
    const isEditable = hasRole(operator, "admin") && catalogFileOf(ctx.config) !== null;
    const isChecked = (one: Requirement) => (flash ? flash.values[one] === "on" : terms.requirements.includes(one));
    return (
      <>
        <PageHead
          title={`Policy of ${product}`}
          parent={{ href: `/console/releases?${new URLSearchParams({ product })}`, label: "Releases" }}
          lead="What releases must have before anybody is offered them, whoever publishes them."
        />
        <ReadOnlyNotice config={ctx.config} />
        {policy?.loosened && <Loosened {...policy.loosened} />}
        <Section title="In force">
          <Facts entries={factsOf(terms)} />
        </Section>
        {policy && policy.pending.length + policy.refused.length > 0 && <Withheld policy={policy} />}
        {isEditable && (
          <Section title="Change the policy" lead="What is stricter applies at once, what is looser in 24 hours.">
            <OperationForm
              operation={policyOperations.setReleasePolicy}
              params={{ product, previewed: policyState(policy) }}
              confirmTo="change the policy"
              flash={flash}
              className="form"
            >
              <fieldset>
                <legend>Required</legend>
                <div className="checks">
                  {Requirement.options.map((one) => (
                    <label key={one} className="check">
                      <input type="checkbox" name={one} value="on" defaultChecked={isChecked(one)} />
                      {REQUIREMENTS[one]}
                    </label>
                  ))}
                </div>
              </fieldset>
              <Field
                name="approvals"
                label="Approvals"
                hint="How many admins other than its publisher must approve a release."
                type="number"
                min={0}
                max={10}
                defaultValue={String(terms.approvals)}
                required
              />
              <button type="submit">Set the policy</button>
            </OperationForm>
          </Section>
        )}
      </>
    );
  },
);

type Terms = Pick<Policy, "requirements" | "approvals" | "publicKeys">;

const factsOf = ({ requirements, approvals, publicKeys }: Terms): Fact[] => [
  ["Required", requirements.join(", ") || "nothing"],
  ["Approvals", String(approvals)],
  publicKeys.length > 0 && ["Keys", publicKeys.map((key) => <code key={key}>{key} </code>)],
];

function Loosened({ at, ...terms }: NonNullable<Policy["loosened"]>) {
  return (
    <Notice>
      A looser policy applies from <ExactTime at={new Date(at)} /> on: {terms.requirements.join(", ") || "nothing"}{" "}
      required, approvals: {terms.approvals}. Set the policy again before then to keep the stricter one.
    </Notice>
  );
}

function Withheld({ policy: { pending, refused, approvals: needed } }: { policy: Policy }) {
  return (
    <Section title="Offered to nobody">
      <ul>
        {pending.map(({ id, approvals }) => (
          <li key={id}>
            <bdi>{id}</bdi> waits: {approvals} of {needed} approvals
          </li>
        ))}
        {refused.map((id) => (
          <li key={id}>
            <bdi>{id}</bdi> was not published through this service
          </li>
        ))}
      </ul>
    </Section>
  );
}
