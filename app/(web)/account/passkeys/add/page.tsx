import { AddPasskey } from "../../../passkeys/add-passkey";
import { AccountHeading } from "../../account-heading";
import { requireRecentVisitor } from "../../require-visitor";

export const metadata = { title: "Add a passkey", robots: { index: false } };

export default async function Page() {
  const { user } = await requireRecentVisitor("/account/passkeys/add");
  return (
    <div className="narrow">
      <AccountHeading title="Add a passkey" />
      <p>
        Your browser asks where to store the passkey for {user.email}: on this device, on a phone or on a security key.
      </p>
      <AddPasskey />
      <p className="aside">
        <a href="/account">Cancel</a>
      </p>
    </div>
  );
}
