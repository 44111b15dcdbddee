import { type PageProps, readPage } from "../../../components/page-props";
import { ResumableForm } from "../../../confirm/resume-form";
import { titleOf } from "../../../language/page-language";
import { defineTexts } from "../../../language/texts";
import { AccountStep } from "../../account-step";
import { requireRecentVisitor } from "../../require-visitor";

const TEXTS = defineTexts({
  en: {
    title: "Remove the authenticator app",
    intro: "Signing in will no longer need a code. Your recovery codes will stop working.",
    submit: "Remove authenticator app",
  },
  de: {
    title: "Authenticator-App entfernen",
    intro: "Die Anmeldung verlangt dann keinen Code mehr. Ihre Wiederherstellungscodes gelten nicht mehr.",
    submit: "Authenticator-App entfernen",
  },
});

export const generateMetadata = titleOf(TEXTS);

const PAGE = "/account/factors/remove";

export default async function Page(props: PageProps) {
  await requireRecentVisitor(PAGE);
  const { flash, texts } = await readPage(props, TEXTS);
  return (
    <AccountStep title={texts.title}>
      <p>{texts.intro}</p>
      <ResumableForm action="/forms/account/factors/remove" flash={flash}>
        <button type="submit" className="danger">
          {texts.submit}
        </button>
      </ResumableForm>
    </AccountStep>
  );
}
