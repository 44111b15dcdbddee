import { headers } from "next/headers";
import { findMaskedEmail } from "@/lib/accounts/email-change/request";
import { readProfile } from "@/lib/accounts/profile";
import { findVisitor, pageContext } from "@/lib/auth/visitor";
import type { Flash } from "@/lib/platform/http/pages/flash";
import { readLinkCookie } from "@/lib/platform/http/pages/page-cookies";
import { continuingTo } from "@/lib/platform/http/pages/redirect-paths";
import { AccountStep } from "../account/account-step";
import { Form } from "../components/form";
import { type PageProps, readPage } from "../components/page-props";
import { TokenField } from "../components/token-field";
import { COMMON } from "../language/common-texts";
import { textsOf, titleOf } from "../language/page-language";
import { defineTexts } from "../language/texts";

const TEXTS = defineTexts({
  en: {
    title: "Confirm your new email",
    intro: (email: string) =>
      `You are signed in as ${email}. From now on you will sign in with the email that got the link.`,
    warning: "Continue only if you asked for this change yourself.",
    submit: "Change email",
    signedOut: "Sign in to the account whose email you are changing.",
    signInAs: (email: string) =>
      `Sign in as ${email}, the email that your account has until now. You will return here to confirm the new one.`,
  },
  de: {
    title: "Neue E-Mail-Adresse bestätigen",
    intro: (email) =>
      `Sie sind als ${email} angemeldet. Von nun an melden Sie sich mit der Adresse an, die den Link bekommen hat.`,
    warning: "Fahren Sie nur fort, wenn Sie diese Änderung selbst veranlasst haben.",
    submit: "E-Mail-Adresse ändern",
    signedOut: "Melden Sie sich bei dem Konto an, dessen E-Mail-Adresse Sie ändern.",
    signInAs: (email) =>
      `Melden Sie sich als ${email} an, mit der bisherigen Adresse Ihres Kontos. Danach bestätigen Sie hier die neue.`,
  },
});

export const generateMetadata = titleOf(TEXTS);

/** The page of the link to the new email. Opening it changes nothing, because mail scanners follow links. */
export default async function Page(props: PageProps) {
  const { config } = pageContext();
  const given = await headers();
  const { flash, texts } = await readPage(props, TEXTS);
  const opened = (await readLinkCookie(config, "emailChange", given.get("cookie"))) ?? undefined;
  const visitor = await findVisitor(given);
  const profile = visitor && (await readProfile(pageContext(), visitor.account.id));
  if (!profile) return <SignedOut opened={opened} flash={flash} />;
  return (
    <AccountStep title={texts.title}>
      <p>{texts.intro(profile.user.email)}</p>
      <p>{texts.warning}</p>
      <Form action="/forms/email-change" flash={flash}>
        <TokenField opened={opened} />
        <button type="submit">{texts.submit}</button>
      </Form>
    </AccountStep>
  );
}

/** Keeps the link over the sign-in, and says with which email to sign in. */
async function SignedOut({ opened, flash }: { opened: string | undefined; flash: Flash | null }) {
  const [texts, common] = [await textsOf(TEXTS), await textsOf(COMMON)];
  const email = opened === undefined ? null : await findMaskedEmail(pageContext(), opened);
  return (
    <div className="narrow">
      <h1>{texts.title}</h1>
      {email === null ? (
        <Form action="/forms/email-change/open" flash={flash}>
          <p>{texts.signedOut}</p>
          <TokenField />
          <button type="submit">{common.continueButton}</button>
        </Form>
      ) : (
        <>
          <p>{texts.signInAs(email)}</p>
          <p>
            <a className="button" href={continuingTo("/email-change", "/sign-in")}>
              {common.signIn}
            </a>
          </p>
        </>
      )}
    </div>
  );
}
