import { pageContext } from "@/lib/http/pages/visitor";
import { Notice } from "../components/notice";
import { flashOf, type PageProps, queryOf } from "../components/page-props";
import { AccountHeading } from "./account-heading";
import { Devices } from "./devices";
import { Factors } from "./factors/factors";
import { Language } from "./language/language";
import { Passkeys } from "./passkeys/passkeys";
import { ProfileCard } from "./profile-card";
import { requireVisitor } from "./require-visitor";
import { SecurityEvents } from "./security-events";
import { Sessions } from "./sessions";
import { SignInMethods } from "./sign-in/sign-in-methods";
import { Subscription } from "./subscription";

export const metadata = { title: "Your account", robots: { index: false } };

const SUCCESS_MESSAGES: Record<string, string> = {
  email_verified: "Your email address is verified.",
  verification_sent: "We have sent you a link. Open it to verify your email.",
  email_change_requested: "We have sent a link to the new email. Open it to confirm the change.",
  email_change_canceled: "The change of your email was canceled.",
  email_changed: "Your email was changed. From now on, sign in with the new one.",
  password_changed: "Your password was changed.",
  password_changed_here: "Your password was changed. You have been signed out of all other sessions.",
  identity_unlinked: "The provider was removed. You have been signed out of all other sessions.",
  totp_removed: "The authenticator app was removed. Signing in needs no second factor.",
  language_set: "The language was saved.",
  passkey_added: "The passkey was added. You can sign in with it.",
  passkey_renamed: "The passkey was renamed.",
  passkey_removed: "The passkey was removed. You have been signed out of all other sessions.",
  device_removed: "The device was removed.",
  session_ended: "The session was signed out.",
  sessions_ended: "You have been signed out of all other sessions.",
};

export default async function Page(props: PageProps) {
  const visitor = await requireVisitor("/account");
  const ctx = pageContext();
  const { done, formErrors } = await queryOf(props);
  const flash = await flashOf(formErrors);
  const successMessage = done && Object.hasOwn(SUCCESS_MESSAGES, done) ? SUCCESS_MESSAGES[done] : null;
  const { account } = visitor;
  return (
    <>
      <AccountHeading title="Your account" />
      {successMessage && <Notice>{successMessage}</Notice>}
      {flash && <Notice kind="error">{flash.message}</Notice>}
      <ProfileCard user={visitor.user} />
      <SignInMethods ctx={ctx} profile={visitor} />
      <Factors ctx={ctx} accountId={account.id} />
      <Passkeys ctx={ctx} accountId={account.id} />
      <Subscription ctx={ctx} visitor={visitor} />
      <Devices ctx={ctx} visitor={visitor} />
      <Sessions ctx={ctx} visitor={visitor} />
      <Language profile={visitor} />
      <SecurityEvents ctx={ctx} accountId={account.id} />
      <section className="card" aria-labelledby="data">
        <h2 id="data">Your data</h2>
        <p>Download everything we store about you as one JSON file.</p>
        <p>
          <a className="button quiet" href="/account/export">
            Export data
          </a>
        </p>
        <p>
          <a href="/account/delete">Delete account</a>
        </p>
      </section>
    </>
  );
}
