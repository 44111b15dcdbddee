import type { AccountSummary } from "@/lib/accounts/admin/schema";
import { Badge } from "../components/cells";

const EMAIL_PROBLEMS: Record<string, string> = {
  bounced: "emails bounce",
  complained: "emails reported as spam",
  forwarding_off: "emails are not forwarded",
};

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
      {emailProblem && <Badge tone="warning">{EMAIL_PROBLEMS[emailProblem] ?? emailProblem}</Badge>}
    </span>
  );
}
