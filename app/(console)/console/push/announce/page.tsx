import { estimateAnnouncement } from "@/lib/admin/push/estimate";
import { AnnouncementDraft } from "@/lib/admin/push/forms";
import { DEFAULT_PER_SECOND, type Estimate, MAX_PER_SECOND } from "@/lib/admin/push/schema";
import { Field } from "../../../../(web)/components/field";
import { Action } from "../../../actions/action";
import { SelectField } from "../../../actions/select-field";
import { Facts } from "../../../components/facts";
import { formatCount } from "../../../components/figures";
import { PageHead, Section } from "../../../components/headings";
import { consolePage } from "../../../frame/console-page";
import { PushTabs } from "../push-tabs";

export const metadata = { title: "Announce a version" };

type Draft = { version: string; bundleId?: string | undefined };

const OPTIONS = { query: AnnouncementDraft, queryFields: ["version", "bundleId", "perSecond"] };

export default consolePage(OPTIONS, async ({ ctx, query: { version, bundleId, perSecond } }) => {
  const estimate = version === undefined ? null : await estimateAnnouncement(ctx, { bundleId, perSecond });
  return (
    <>
      <PageHead
        title="Announce a version"
        lead="Notifies each device once that the version can be installed. The text is the app’s own."
      />
      <PushTabs current="/console/push/announce" />
      <div className="columns">
        <Section title="Version">
          <form action="/console/push/announce" method="get" className="form">
            <Field
              name="version"
              label="Version"
              hint="Such as 2.1.0."
              defaultValue={version}
              required
              maxLength={64}
            />
            <SelectField
              name="bundleId"
              label="App"
              options={{ "": "All apps", ...Object.fromEntries(ctx.config.APNS_BUNDLE_IDS.map((id) => [id, id])) }}
              defaultValue={bundleId}
            />
            <Field
              name="perSecond"
              label="Devices per second"
              hint="Clients do not all download the update at once."
              type="number"
              min={1}
              max={MAX_PER_SECOND}
              defaultValue={perSecond ?? DEFAULT_PER_SECOND}
              required
            />
            <button type="submit">Estimate</button>
          </form>
        </Section>
        {estimate && version && (
          <Section title="Estimate">
            <EstimateFacts estimate={estimate} draft={{ version, bundleId }} />
          </Section>
        )}
      </div>
    </>
  );
});

function EstimateFacts({ estimate, draft: { version, bundleId } }: { estimate: Estimate; draft: Draft }) {
  const { devices, isExact, perSecond, seconds } = estimate;
  const count = `${isExact ? "" : "about "}${formatCount(devices)} ${devices === 1 ? "device" : "devices"}`;
  return (
    <>
      <Facts
        entries={[
          ["Version", version],
          ["To", bundleId ?? "All apps"],
          ["Devices", count],
          ["Takes", durationOf(seconds)],
        ]}
      />
      <div className="buttons">
        <Action
          form="/forms/console/push/announce"
          label="Announce"
          name={version}
          title={`Announce ${version} to ${count}?`}
          submit="Announce"
          values={{ version, bundleId: bundleId ?? "", perSecond: String(perSecond) }}
        >
          <p>
            {formatCount(perSecond)} devices a second are notified, which takes {durationOf(seconds)}. You can cancel it
            meanwhile. Devices that were notified of this version are skipped.
          </p>
        </Action>
      </div>
    </>
  );
}

/** A duration in its largest unit that is not below two. */
function durationOf(seconds: number): string {
  if (seconds < 120) return `${seconds} ${seconds === 1 ? "second" : "seconds"}`;
  return seconds < 7_200 ? `${Math.round(seconds / 60)} minutes` : `${Math.round(seconds / 3_600)} hours`;
}
