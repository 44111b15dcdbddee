import { pageContext } from "@/lib/auth/visitor";
import { Notice } from "../components/notice";
import { flashOf, type PageProps, queryOf } from "../components/page-props";
import { ResumeForm } from "../confirm/resume-form";
import { textsOf, titleOf } from "../language/page-language";
import { AccountHeading } from "./account-heading";
import { SecurityEvents } from "./activity/security-events";
import { Devices } from "./devices";
import { Factors } from "./factors/factors";
import { Language } from "./language/language";
import { Notifications } from "./notifications/notifications";
import { NOTIFICATIONS } from "./notifications/texts";
import { Passkeys } from "./passkeys/passkeys";
import { ProfileCard } from "./profile/profile-card";
import { requireVisitor } from "./require-visitor";
import { Sessions } from "./sessions";
import { SignInMethods } from "./sign-in/sign-in-methods";
import { Subscription } from "./subscription/subscription";
import { SUBSCRIPTION } from "./subscription/texts";
import { ACCOUNT, type AccountTexts } from "./texts/account";

export const generateMetadata = titleOf(ACCOUNT);

export default async function Page(props: PageProps) {
  const visitor = await requireVisitor("/account");
  const ctx = pageContext();
  const texts = await textsOf(ACCOUNT);
  const { done, formErrors } = await queryOf(props);
  const flash = await flashOf(formErrors);
  const messages: Record<string, string> = texts.done;
  const successMessage = done && Object.hasOwn(messages, done) ? messages[done] : null;
  const { account } = visitor;
  return (
    <>
      <AccountHeading title={texts.title} />
      {successMessage && <Notice>{successMessage}</Notice>}
      {flash && (flash.resume ? <ResumeForm flash={flash} /> : <Notice kind="error">{flash.message}</Notice>)}
      <div className="with-sections">
        <SectionList texts={texts} />
        <div>
          <ProfileCard user={visitor.user} texts={texts.profile} />
          <Subscription ctx={ctx} visitor={visitor} />
          <SignInMethods ctx={ctx} profile={visitor} texts={texts} />
          <Passkeys ctx={ctx} accountId={account.id} texts={texts} />
          <Factors ctx={ctx} accountId={account.id} texts={texts} />
          <Sessions ctx={ctx} visitor={visitor} texts={texts} />
          <Devices ctx={ctx} visitor={visitor} texts={texts} />
          <Notifications ctx={ctx} accountId={account.id} flash={flash} />
          <Language texts={texts.language} />
          <SecurityEvents ctx={ctx} accountId={account.id} texts={texts} />
          <OwnData texts={texts.data} />
        </div>
      </div>
    </>
  );
}

async function SectionList({ texts }: { texts: AccountTexts }) {
  const sections = [
    ["profile", texts.profile.title],
    ["subscription", (await textsOf(SUBSCRIPTION)).title],
    ["sign-in-methods", texts.signIn.title],
    ["passkeys", texts.passkeys.title],
    ["factors", texts.factors.title],
    ["sessions", texts.sessions.title],
    ["devices", texts.devices.title],
    ["notifications", (await textsOf(NOTIFICATIONS)).title],
    ["language", texts.language.title],
    ["activity", texts.activity.title],
    ["data", texts.data.title],
  ];
  return (
    <nav className="sections" aria-label={texts.sections}>
      <ul>
        {sections.map(([id, title]) => (
          <li key={id}>
            <a href={`#${id}`}>{title}</a>
          </li>
        ))}
      </ul>
    </nav>
  );
}

function OwnData({ texts }: { texts: AccountTexts["data"] }) {
  return (
    <section className="card" aria-labelledby="data">
      <h2 id="data">{texts.title}</h2>
      <p>{texts.intro}</p>
      <p>
        <a className="button quiet" href="/account/export">
          {texts.export}
        </a>
      </p>
      <p>
        <a href="/account/delete">{texts.delete}</a>
      </p>
    </section>
  );
}
