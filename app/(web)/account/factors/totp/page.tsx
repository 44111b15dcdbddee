import { redirect } from "next/navigation";
import { readEnrollment } from "@/lib/auth/second-factor/change-factors";
import { pageContext } from "@/lib/auth/visitor";
import { Field } from "../../../components/field";
import { Form } from "../../../components/form";
import { type PageProps, readPage } from "../../../components/page-props";
import { ResumableForm } from "../../../confirm/resume-form";
import { titleOf } from "../../../language/page-language";
import { defineTexts } from "../../../language/texts";
import { AccountStep } from "../../account-step";
import { requireRecentVisitor } from "../../require-visitor";

const TEXTS = defineTexts({
  en: {
    title: "Add an authenticator app",
    scan: "Scan this code with your authenticator app.",
    qrCode: "QR code for an authenticator app",
    orOpen: (uri: string) => (
      <>
        On this device, <a href={uri}>open the app</a>, or enter this key in it:
      </>
    ),
    codeHint: "The six digits that the app shows.",
    submit: "Add app",
    intro: "An authenticator app on your phone makes a new code every 30 seconds. You enter it when you sign in.",
  },
  de: {
    title: "Authenticator-App hinzufügen",
    scan: "Scannen Sie diesen Code mit Ihrer Authenticator-App.",
    qrCode: "QR-Code für eine Authenticator-App",
    orOpen: (uri) => (
      <>
        Auf diesem Gerät <a href={uri}>öffnen Sie die App</a> oder geben dort diesen Schlüssel ein:
      </>
    ),
    codeHint: "Die sechs Ziffern, die die App zeigt.",
    submit: "App hinzufügen",
    intro:
      "Eine Authenticator-App auf Ihrem Telefon erzeugt alle 30 Sekunden einen neuen Code. Sie geben ihn bei der Anmeldung ein.",
  },
});

export const generateMetadata = titleOf(TEXTS);

const PAGE = "/account/factors/totp";

export default async function Page(props: PageProps) {
  const visitor = await requireRecentVisitor(PAGE);
  const { query, flash, texts, common } = await readPage(props, TEXTS);
  const { id } = query;
  const enrollment = id ? await readEnrollment(pageContext(), visitor, id) : null;
  if (id && !enrollment && !flash) redirect(PAGE);
  return (
    <AccountStep title={texts.title}>
      {enrollment ? (
        <>
          <p>{texts.scan}</p>
          {/* Made by `qrCodeSvg`: it contains nothing but numbers. */}
          <div
            className="qr-code"
            role="img"
            aria-label={texts.qrCode}
            // biome-ignore lint/security/noDangerouslySetInnerHtml: see above
            dangerouslySetInnerHTML={{ __html: enrollment.qrCode }}
          />
          <p>{texts.orOpen(enrollment.uri)}</p>
          <p className="key">{enrollment.secret.match(/.{1,4}/g)?.join(" ")}</p>
          <Form action="/forms/account/factors/confirm" flash={flash}>
            <input type="hidden" name="id" value={enrollment.id} />
            <Field
              name="code"
              label={common.code}
              hint={texts.codeHint}
              required
              autoComplete="one-time-code"
              inputMode="numeric"
            />
            <button type="submit">{texts.submit}</button>
          </Form>
        </>
      ) : (
        <>
          <p>{texts.intro}</p>
          <ResumableForm action="/forms/account/factors/totp" flash={flash}>
            <button type="submit">{common.continueButton}</button>
          </ResumableForm>
        </>
      )}
    </AccountStep>
  );
}
