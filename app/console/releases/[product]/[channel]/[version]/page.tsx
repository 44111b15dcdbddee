import { readAdoptionCurve } from "@/lib/releases/adoption/report";
import { catalogFileOf } from "@/lib/releases/catalog/catalog";
import { readVersion } from "@/lib/releases/publishing/list-versions";
import { releaseOperations } from "@/lib/releases/publishing/operations";
import { PageHead, Section } from "../../../../components/headings";
import { Ago } from "../../../../components/time";
import { consolePage, titleOf } from "../../../../frame/console-page";
import { hasRole } from "../../../../frame/operator";
import { AdoptionChart } from "../../../adoption-chart";
import { ApprovalPanel } from "../../../approval-panel";
import { Artifacts } from "../../../artifacts";
import { NotesFields } from "../../../notes-fields";
import { RolloutPanel } from "../../../rollout-panel";
import { VersionActions } from "../../../version-actions";
import { ReadOnlyNotice, VersionBadges } from "../../../version-state";

export const generateMetadata = titleOf("Releases", async ({ params }) => decodeURIComponent(params.version ?? ""));

const CURVE_DAYS = 30;

const DONE = {
  rollout: "The rollout was changed.",
  schedule: "The rollout is scheduled.",
  halt: "The rollout was halted. Nobody else is offered the version.",
  resume: "The rollout runs.",
  complete: "The rollout was completed.",
  yank: "The version was yanked.",
  restore: "The version is offered again.",
  critical: "The version is critical.",
  not_critical: "The version is no longer critical.",
  rollback: "Clients roll back to this version.",
  promote: "The version is on this channel, too.",
  notes: "The release notes were changed.",
  published: "The version was published.",
  approved: "The version is approved, and offered.",
  approved_once: "Your approval counts. The version waits for another admin.",
  verified: "Every file is as it was published.",
};

export default consolePage(
  { done: DONE, ownForms: [releaseOperations.changeNotes] },
  async ({ ctx, operator, params, flash }) => {
    const [product = "", channel = "", version = ""] = [params.product, params.channel, params.version].map((part) =>
      decodeURIComponent(part ?? ""),
    );
    const found = await readVersion(ctx, { product, channel, version });
    const curve = await readAdoptionCurve(ctx, { product, version, days: CURVE_DAYS, limit: 1 });
    const isEditable = catalogFileOf(ctx.config) !== null && hasRole(operator, "admin");
    return (
      <>
        <PageHead
          title={`${product} ${version}`}
          parent={{ href: `/console/releases?${new URLSearchParams({ product })}`, label: "Releases" }}
          aside={<VersionBadges version={found} />}
          lead={
            <>
              On {channel}, released <Ago at={new Date(found.releasedAt)} />
            </>
          }
          actions={isEditable && <VersionActions version={found} />}
        />
        <ReadOnlyNotice config={ctx.config} />
        <ApprovalPanel ctx={ctx} version={found} />
        <Section title="Rollout">
          <RolloutPanel version={found} isEditable={isEditable} isAdmin={hasRole(operator, "admin")} />
        </Section>
        <Section title="Adoption" lead="Distinct clients with this version, on all channels.">
          <AdoptionChart curve={curve} />
        </Section>
        <Artifacts version={found} isVerifiable={catalogFileOf(ctx.config) !== null} />
        <Section title="Release notes">
          <NotesFields version={found} isEditable={isEditable} flash={flash} />
        </Section>
      </>
    );
  },
);
