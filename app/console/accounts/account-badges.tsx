import type { AccountSummary } from "@/lib/accounts/admin/schema";
import { Badge } from "../components/cells";

/** What distinguishes an account: its role, whether it is disabled, and whether its email is verified. */
export function AccountBadges({ account: { role, disabledAt, emailVerifiedAt } }: { account: AccountSummary }) {
  return (
    <span className="badges">
      {role !== "user" && <Badge tone="active">{role}</Badge>}
      {disabledAt ? <Badge tone="bad">disabled</Badge> : <Badge tone="good">active</Badge>}
      {!emailVerifiedAt && <Badge tone="warning">email not verified</Badge>}
    </span>
  );
}
