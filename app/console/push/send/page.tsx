import { Draft } from "@/lib/push/admin/drafts";
import { listActiveDevices } from "@/lib/push/devices/devices";
import { PageHead, Section } from "../../components/headings";
import { unknownAccount } from "../../components/unknown-account";
import { consolePage } from "../../frame/console-page";
import { hasRole } from "../../frame/operator";
import { PushTabs } from "../push-tabs";
import { DraftFields, NotificationPreview } from "./draft-fields";
import { Recipients } from "./recipients";

export const metadata = { title: "Send a notification" };

export default consolePage(
  {
    query: Draft,
    queryFields: ["account"],
    done: { test_sent: "The test is queued. Look at the device, then send it to all devices of the account." },
  },
  async ({ ctx, operator, query }) => {
    const { account, title, body, link } = query;
    const draft = account && title && body ? { title, body, link } : null;
    const found = account ? await listActiveDevices(ctx, account).catch(unknownAccount) : null;
    const bundleIds = new Set(found?.devices.map(({ bundleId }) => bundleId));
    return (
      <>
        <PageHead title="Send a notification" lead="To the devices of one account, and to a test device first." />
        <PushTabs current="/console/push/send" />
        <div className="columns">
          <Section title="Text">
            <DraftFields draft={query} />
          </Section>
          {found && (
            <Section title={draft ? "Preview" : "Recipients"}>
              {draft && <NotificationPreview {...draft} bundleIds={[...bundleIds]} />}
              <Recipients {...found} draft={draft} canSend={hasRole(operator, "admin")} />
            </Section>
          )}
        </div>
      </>
    );
  },
);
