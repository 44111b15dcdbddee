import type { AccountDetails } from "@/lib/accounts/admin/schema";
import { Badge } from "../../components/cells";
import { Facts } from "../../components/facts";
import { Section } from "../../components/headings";
import { Ago, ExactTime } from "../../components/time";

/** Who the customer is, and what they have bought. */
export function Profile({ account }: { account: AccountDetails }) {
  const { id, email, emailVerifiedAt, name, locale, role, createdAt, disabledAt, sandboxUntil, subscription } = account;
  const { isActive, status, productId, accessEndsAt } = subscription;
  return (
    <Section title="Profile">
      <Facts
        entries={[
          ["ID", <code key="id">{id}</code>],
          ["Email", email],
          ["Email verified", emailVerifiedAt ? <ExactTime key="verified" at={emailVerifiedAt} /> : "No"],
          ["Name", name],
          ["Language", locale],
          ["Role", role],
          ["Created", <ExactTime key="created" at={createdAt} />],
          disabledAt && ["Disabled", <ExactTime key="disabled" at={disabledAt} />],
          [
            "Subscription",
            <span key="subscription" className="badges">
              <Badge tone={isActive ? "good" : "neutral"}>{status.replaceAll("_", " ")}</Badge> {productId}
            </span>,
          ],
          // Of the last test event, also when it is over.
          sandboxUntil && ["Sandbox tester until", <ExactTime key="sandbox" at={sandboxUntil} />],
          ["Access ends", accessEndsAt && <Ago key="access" at={accessEndsAt} />],
        ]}
      />
    </Section>
  );
}
