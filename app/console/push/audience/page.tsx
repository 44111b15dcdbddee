import { randomUUID } from "node:crypto";
import { AudienceDraft, AudienceFields as Fields, toAudience } from "@/lib/push/admin/drafts";
import { estimateAudience } from "@/lib/push/admin/estimate";
import { pushOperations } from "@/lib/push/admin/operations";
import { DEFAULT_PER_SECOND } from "@/lib/push/admin/schema";
import { Action } from "../../components/action";
import { PageHead, Section } from "../../components/headings";
import { consolePage } from "../../frame/console-page";
import { hasRole } from "../../frame/operator";
import { PushTabs } from "../push-tabs";
import { NotificationPreview, TextFields } from "../send/draft-fields";
import { AudienceFields } from "./audience-fields";
import { countText, durationText, EstimateFacts, hiddenValues } from "./estimate-facts";

export const metadata = { title: "Send to an audience" };

const OPTIONS = { query: AudienceDraft, queryFields: [...Object.keys(Fields.shape), "title", "body", "link"] };

export default consolePage(OPTIONS, async ({ ctx, operator, query }) => {
  const { title, body, link, ...fields } = query;
  const { perSecond = DEFAULT_PER_SECOND } = fields;
  const draft = title && body ? { title, body, link } : null;
  const estimate = draft ? await estimateAudience(ctx, { audience: toAudience(fields), perSecond }) : null;
  return (
    <>
      <PageHead title="Send to an audience" lead="To all devices, or to those that you choose, at once or later." />
      <PushTabs current="/console/push/audience" />
      <div className="columns">
        <Section title="Message">
          <form action="/console/push/audience" method="get" className="form">
            <TextFields draft={query} />
            <AudienceFields values={fields} bundleIds={ctx.config.APNS_BUNDLE_IDS} />
            <button type="submit">Preview and estimate</button>
          </form>
        </Section>
        {draft && estimate && (
          <Section title="Preview">
            <NotificationPreview
              {...draft}
              bundleIds={fields.bundleId ? [fields.bundleId] : ctx.config.APNS_BUNDLE_IDS}
            />
            <EstimateFacts estimate={estimate} fields={fields} />
            {hasRole(operator, "admin") && estimate.devices > 0 && (
              <div className="buttons">
                <Action
                  operation={pushOperations.sendToAudience}
                  label={`Send to ${countText(estimate)}`}
                  title={`Send to ${countText(estimate)}?`}
                  submit="Send"
                  params={{ ...draft, link: link ?? "", ...hiddenValues(fields), messageKey: randomUUID() }}
                >
                  <p>
                    “<bdi>{draft.title}</bdi>” goes to whoever belongs to the audience by then, which takes{" "}
                    {durationText(estimate.seconds)}. You can cancel the unsent deliveries.
                  </p>
                </Action>
              </div>
            )}
          </Section>
        )}
      </div>
    </>
  );
});
