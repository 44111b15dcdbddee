import { withWarnings } from "@/lib/push/admin/announce";
import { AnnouncementDraft, AudienceFields as Fields, toAudience } from "@/lib/push/admin/drafts";
import { estimateAudience } from "@/lib/push/admin/estimate";
import { pushOperations } from "@/lib/push/admin/operations";
import { DEFAULT_PER_SECOND } from "@/lib/push/admin/schema";
import { Field } from "../../../(web)/components/field";
import { Notice } from "../../../(web)/components/notice";
import { Action } from "../../components/action";
import { formatCount } from "../../components/format-numbers";
import { PageHead, Section } from "../../components/headings";
import { consolePage } from "../../frame/console-page";
import { AudienceFields } from "../audience/audience-fields";
import { countText, durationText, EstimateFacts, hiddenValues } from "../audience/estimate-facts";
import { PushTabs } from "../push-tabs";

export const metadata = { title: "Announce a version" };

const OPTIONS = { query: AnnouncementDraft, queryFields: ["version", ...Object.keys(Fields.shape)] };

export default consolePage(OPTIONS, async ({ ctx, query: { version, done, ...fields } }) => {
  const { perSecond = DEFAULT_PER_SECOND } = fields;
  const audience = toAudience(fields);
  const estimate =
    version === undefined
      ? null
      : await withWarnings(ctx, { version }, await estimateAudience(ctx, { audience, perSecond }));
  const isWarned = estimate && estimate.warnings.length > 0 ? "on" : "";
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
            <AudienceFields values={fields} bundleIds={ctx.config.APNS_BUNDLE_IDS} />
            <button type="submit">Estimate</button>
          </form>
        </Section>
        {estimate && version && (
          <Section title="Estimate">
            {done === "stale" && (
              <Notice kind="error">Nothing was announced: the version was withdrawn meanwhile.</Notice>
            )}
            {estimate.warnings.map(({ code, detail }) => (
              <Notice key={code} kind="error">
                {detail}
              </Notice>
            ))}
            <EstimateFacts estimate={estimate} fields={fields} />
            <div className="buttons">
              <Action
                operation={pushOperations.announceVersion}
                label="Announce"
                name={version}
                title={`Announce ${version} to ${countText(estimate)}?`}
                submit="Announce"
                params={{ version, ...hiddenValues(fields), perSecond: String(perSecond), isWarned }}
              >
                {estimate.warnings.map(({ code, detail }) => (
                  <p key={code}>
                    <strong>{detail}</strong>
                  </p>
                ))}
                <p>
                  {formatCount(perSecond)} devices a second are notified, which takes {durationText(estimate.seconds)}.
                  You can cancel it meanwhile. Devices that were notified of this version are skipped.
                </p>
              </Action>
            </div>
          </Section>
        )}
      </div>
    </>
  );
});
