import type { Context } from "@/lib/context";
import { listPolicies } from "@/lib/releases/policy/manage-policies";
import { policyOperations } from "@/lib/releases/policy/operations";
import type { CatalogVersion } from "@/lib/releases/publishing/list-versions";
import { readCatalogState } from "@/lib/releases/publishing/seen-state";
import { readCatalog } from "@/lib/releases/publishing/service-catalog";
import { Notice } from "../../(web)/components/notice";
import { Action } from "../components/action";
import { Section } from "../components/headings";
import { targetName } from "./version-state";

/** What keeps a version from being offered: approvals that it waits for, or files that were not published here. */
export async function ApprovalPanel({ ctx, version: shown }: { ctx: Context; version: CatalogVersion }) {
  const { product, channel, version } = shown;
  const withheld = shown.releases.filter(({ yanked, admission }) => !yanked && admission && admission !== "admitted");
  if (withheld.length === 0) return null;
  const refused = withheld.filter(({ admission }) => admission === "refused");
  if (refused.length > 0) {
    return (
      <Notice kind="error">
        {refused.map(targetName).join(", ")}: offered to nobody, because a file was not published through this service.
      </Notice>
    );
  }
  const { policies } = await listPolicies(ctx, {});
  const policy = policies.find((one) => one.product === product);
  const ids = withheld.map(({ id }) => id);
  const waiting = policy?.pending.filter(({ id }) => ids.includes(id)) ?? [];
  const given = Math.min(...waiting.map(({ approvals }) => approvals));
  if (!policy || waiting.length === 0) return null;
  const previewed = await readCatalogState(ctx.db, await readCatalog(ctx), ids);
  return (
    <Section
      title="Approval"
      lead={`${given} of ${policy.approvals} admins have approved ${withheld.map(targetName).join(", ")}. Until then nobody is offered what waits.`}
    >
      <Action
        operation={policyOperations.approveReleases}
        params={{ product, channel, version, previewed }}
        label="Approve"
        title={`Approve ${product} ${version}?`}
        submit="Approve the version"
      >
        <p>
          Once enough admins have approved it, clients are offered {withheld.map(targetName).join(", ")} on {channel}.
          You cannot approve what you published, or what a key published that you created.
        </p>
      </Action>
    </Section>
  );
}
