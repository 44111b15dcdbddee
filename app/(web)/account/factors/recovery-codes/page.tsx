import { headers } from "next/headers";
import { pageContext } from "@/lib/auth/visitor";
import { readShownSecret } from "@/lib/platform/http/pages/page-cookies";
import { Form } from "../../../components/form";
import { type PageProps, readPage } from "../../../components/page-props";
import { ResumableForm } from "../../../confirm/resume-form";
import { titleOf } from "../../../language/page-language";
import { defineTexts } from "../../../language/texts";
import { AccountHeading } from "../../account-step";
import { requireRecentVisitor, requireVisitor } from "../../require-visitor";

const TEXTS = defineTexts({
  en: {
    title: "Recovery codes",
    shown:
      "Keep these codes where you keep your passwords, or print them. Each one replaces a code of your authenticator app, once. They will not be shown again.",
    saved: "I have saved them",
    renew: "You get ten new codes. The old ones stop working.",
    submit: "New recovery codes",
  },
  de: {
    title: "Wiederherstellungscodes",
    shown:
      "Bewahren Sie diese Codes bei Ihren Passwörtern auf oder drucken Sie sie. Jeder ersetzt einmal Ihre Authenticator-App. Sie werden nicht wieder gezeigt.",
    saved: "Ich habe sie gespeichert",
    renew: "Sie bekommen zehn neue Codes. Die alten gelten dann nicht mehr.",
    submit: "Neue Wiederherstellungscodes",
  },
});

export const generateMetadata = titleOf(TEXTS);

const PAGE = "/account/factors/recovery-codes";

export default async function Page(props: PageProps) {
  const { account } = await requireVisitor(PAGE);
  const { flash, texts } = await readPage(props, TEXTS);
  const codes = (await readShownSecret(pageContext(), account.id, "recovery-codes", await headers()))?.split(" ");
  if (!codes) await requireRecentVisitor(PAGE);
  return (
    <div className="narrow">
      <AccountHeading title={texts.title} />
      {codes ? (
        <>
          <p>{texts.shown}</p>
          <ol className="codes">
            {codes.map((code) => (
              <li key={code}>
                <code>{code}</code>
              </li>
            ))}
          </ol>
          <Form action="/forms/account/factors/saved">
            <button type="submit">{texts.saved}</button>
          </Form>
        </>
      ) : (
        <>
          <p>{texts.renew}</p>
          <ResumableForm action="/forms/account/factors/recovery-codes" flash={flash}>
            <button type="submit">{texts.submit}</button>
          </ResumableForm>
        </>
      )}
    </div>
  );
}
