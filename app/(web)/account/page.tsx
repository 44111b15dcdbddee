import type { User } from "@/lib/accounts/schema";
import { LOCALE_NAMES, LOCALES } from "@/lib/platform/locale";
import { Form } from "../components/form";
import { Notice } from "../components/notice";
import { type PageProps, readPage } from "../components/page-props";
import { Day } from "../components/time";
import { ResumeForm } from "../confirm/resume-form";
import { COMMON } from "../language/common-texts";
import { pageLocale, textsOf, titleOf } from "../language/page-language";
import { AccountHeading } from "./account-step";
import { Devices, SecurityEvents, Sessions } from "./activity";
import { EmailProblem } from "./email-problem";
import { NOTIFICATIONS, Notifications } from "./notifications";
import { requireVisitor } from "./require-visitor";
import { Factors, Passkeys, SignInMethods } from "./sign-in-methods";
import { SUBSCRIPTION, Subscription } from "./subscription";
import { ACCOUNT, type AccountTexts } from "./texts";

export const generateMetadata = titleOf(ACCOUNT);

export default async function Page(props: PageProps) {
  const visitor = await requireVisitor("/account");
  const { query, flash, texts } = await readPage(props, ACCOUNT);
  const { done } = query;
  const messages: Record<string, string> = texts.done;
  const successMessage = done && Object.hasOwn(messages, done) ? messages[done] : null;
  return (
    <>
      <AccountHeading title={texts.title} />
      {successMessage && <Notice>{successMessage}</Notice>}
      {flash && (flash.resume ? <ResumeForm flash={flash} /> : <Notice kind="error">{flash.message}</Notice>)}
      <EmailProblem user={visitor.user} />
      <div className="with-sections">
        <SectionList texts={texts} />
        <div>
          <ProfileCard user={visitor.user} texts={texts.profile} />
          <Subscription visitor={visitor} />
          <SignInMethods visitor={visitor} texts={texts} />
          <Passkeys visitor={visitor} texts={texts} />
          <Factors visitor={visitor} texts={texts} />
          <Sessions visitor={visitor} texts={texts} />
          <Devices visitor={visitor} texts={texts} />
          <Notifications visitor={visitor} flash={flash} />
          <Language texts={texts.language} />
          <SecurityEvents visitor={visitor} texts={texts} />
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

async function ProfileCard({ user, texts }: { user: User; texts: AccountTexts["profile"] }) {
  const { email } = await textsOf(COMMON);
  return (
    <section className="card" aria-labelledby="profile">
      <div className="heading">
        <h2 id="profile">{texts.title}</h2>
        <a href="/account/name">{texts.editName}</a>
      </div>
      <dl>
        <dt>{texts.name}</dt>
        <dd>{user.name ?? "–"}</dd>
        <dt>{email}</dt>
        <dd>{user.email}</dd>
        <dt>{texts.memberSince}</dt>
        <dd>
          <Day at={user.createdAt} />
        </dd>
      </dl>
    </section>
  );
}

/** The language of the account's pages and emails. */
async function Language({ texts }: { texts: AccountTexts["language"] }) {
  return (
    <section className="card" aria-labelledby="language">
      <h2 id="language">{texts.title}</h2>
      <p>{texts.intro}</p>
      <Form action="/forms/account/language" className="actions">
        <select name="locale" aria-labelledby="language" defaultValue={await pageLocale()}>
          {LOCALES.map((locale) => (
            <option key={locale} value={locale} lang={locale}>
              {LOCALE_NAMES[locale]}
            </option>
          ))}
        </select>
        <button type="submit" className="quiet">
          {texts.save}
        </button>
      </Form>
    </section>
  );
}
