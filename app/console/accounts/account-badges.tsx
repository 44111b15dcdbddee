import type { AccountSummary } from "@/lib/accounts/admin/schema";
import { Badge } from "../components/cells";

export function AccountBadges({ account: { role, disabledAt, emailVerifiedAt } }: { account: AccountSummary }) {
  return (
    <span className="badges">
      {role !== "user" && <Badge tone="active">{role}</Badge>}
      {disabledAt ? <Badge tone="bad">disabled</Badge> : <Badge tone="good">active</Badge>}
      {!emailVerifiedAt && <Badge tone="warning">email not verified</Badge>}
    </span>
  );
}
