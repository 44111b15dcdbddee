import { RESET_TTL_MINUTES } from "@/lib/accounts/password-reset";
import { Form } from "../components/form";
import { Notice } from "../components/notice";
import { type PageProps, readPage } from "../components/page-props";
import { TokenField } from "../components/token-field";
import { titleOf } from "../language/page-language";
import { defineTexts } from "../language/texts";

const TEXTS = defineTexts({
  en: {
    title: "This was not me",
    question: "This was not you?",
    intro:
      "Then somebody else has access to your account. Sign out all devices now. We then send you a link to set a new password.",
    submit: "Sign out all devices",
    otherwise: (
      <>
        If it was you, close this page: nothing has changed. You can also <a href="/forgot">reset your password</a>.
      </>
    ),
    done: "All devices are signed out",
    sent: `We have sent you a link to set a new password. It is valid for ${RESET_TTL_MINUTES} minutes.`,
    warning:
      "Until you set a new password, somebody who knows the old one can sign in again. Change the password of your mailbox as well, if somebody else may know it.",
    noEmail: (
      <>
        No email? <a href="/forgot">Request another link</a>
      </>
    ),
  },
  de: {
    title: "Das war ich nicht",
    question: "Das waren Sie nicht?",
    intro:
      "Dann hat jemand anderes Zugang zu Ihrem Konto. Melden Sie jetzt alle Geräte ab. Danach schicken wir Ihnen einen Link, mit dem Sie ein neues Passwort festlegen.",
    submit: "Alle Geräte abmelden",
    otherwise: (
      <>
        Wenn Sie es waren, schließen Sie diese Seite: Es hat sich nichts geändert. Sie können auch{" "}
        <a href="/forgot">Ihr Passwort zurücksetzen</a>.
      </>
    ),
    done: "Alle Geräte sind abgemeldet",
    sent: `Wir haben Ihnen einen Link geschickt, mit dem Sie ein neues Passwort festlegen. Er gilt ${RESET_TTL_MINUTES} Minuten.`,
    warning:
      "Bis Sie ein neues Passwort festlegen, kann sich wieder anmelden, wer das alte kennt. Ändern Sie auch das Passwort Ihres Postfachs, wenn jemand anderes es kennen könnte.",
    noEmail: (
      <>
        Keine E-Mail? <a href="/forgot">Neuen Link anfordern</a>
      </>
    ),
  },
});

export const generateMetadata = titleOf(TEXTS);

export default async function Page(props: PageProps) {
  const { query, flash, texts } = await readPage(props, TEXTS);
  const { done } = query;
  if (done !== undefined) return <Done texts={texts} />;
  return (
    <div className="narrow">
      <h1>{texts.question}</h1>
      <p>{texts.intro}</p>
      <Form action="/forms/not-me" flash={flash}>
        <TokenField />
        <button type="submit">{texts.submit}</button>
      </Form>
      <p className="aside">{texts.otherwise}</p>
    </div>
  );
}

function Done({ texts }: { texts: (typeof TEXTS)["en"] }) {
  return (
    <div className="narrow">
      <h1>{texts.done}</h1>
      <Notice>{texts.sent}</Notice>
      <p>{texts.warning}</p>
      <p className="aside">{texts.noEmail}</p>
    </div>
  );
}
