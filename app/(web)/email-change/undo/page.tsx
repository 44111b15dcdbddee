import { Form } from "../../components/form";
import { type PageProps, readPage } from "../../components/page-props";
import { TokenField } from "../../components/token-field";
import { titleOf } from "../../language/page-language";
import { defineTexts } from "../../language/texts";

const TEXTS = defineTexts({
  en: {
    title: "Undo the change of your email",
    intro: "If you did not change the email of your account, somebody else has access to it. This button",
    effects: [
      "restores your email,",
      "signs out all sessions and revokes all links that we sent by email,",
      "removes the password, and the sign-in providers and second factors that were added since,",
      "sends you a link to set a new password.",
    ],
    submit: "Restore my email",
  },
  de: {
    title: "Änderung der E-Mail-Adresse rückgängig machen",
    intro:
      "Wenn Sie die E-Mail-Adresse Ihres Kontos nicht geändert haben, hat jemand anderes Zugang dazu. Diese Schaltfläche",
    effects: [
      "stellt Ihre E-Mail-Adresse wieder her,",
      "beendet alle Sitzungen und widerruft alle Links, die wir per E-Mail geschickt haben,",
      "entfernt das Passwort sowie Anbieter und zweite Faktoren, die seitdem hinzugefügt wurden,",
      "schickt Ihnen einen Link, mit dem Sie ein neues Passwort festlegen.",
    ],
    submit: "Meine E-Mail-Adresse wiederherstellen",
  },
});

export const generateMetadata = titleOf(TEXTS);

/** The page of the link to the old email. Opening it changes nothing, because mail scanners follow links. */
export default async function Page(props: PageProps) {
  const { flash, texts, common } = await readPage(props, TEXTS);
  return (
    <div className="narrow">
      <h1>{texts.title}</h1>
      <p>{texts.intro}</p>
      <ul>
        {texts.effects.map((effect) => (
          <li key={effect}>{effect}</li>
        ))}
      </ul>
      <Form action="/forms/undo-email-change" flash={flash}>
        <TokenField />
        <button type="submit" className="danger">
          {texts.submit}
        </button>
      </Form>
      <p className="aside">
        <a href="/sign-in">{common.backToSignIn}</a>
      </p>
    </div>
  );
}
