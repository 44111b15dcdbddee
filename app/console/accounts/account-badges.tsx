import type { AccountSummary } from "@/lib/accounts/admin/schema";
import { Badge } from "../components/cells";

export function AccountBadges({
  account: { role, disabledAt, consentWithdrawnAt, emailVerifiedAt, emailProblem },
}: {
  account: AccountSummary;
}) {
  return (
    <span className="badges">
      {role !== "user" && <Badge tone="active">{role}</Badge>}
      {disabledAt ? <Badge tone="bad">disabled</Badge> : <Badge tone="good">active</Badge>}
      {consentWithdrawnAt && <Badge tone="bad">consent withdrawn</Badge>}
      {!emailVerifiedAt && <Badge tone="warning">email not verified</Badge>}
      {emailProblem && <Badge tone="warning">emails are not forwarded</Badge>}
    </span>
  );
}
