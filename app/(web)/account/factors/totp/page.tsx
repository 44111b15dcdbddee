import { redirect } from "next/navigation";
import { readEnrollment } from "@/lib/auth/second-factor/enroll-totp";
import { pageContext } from "@/lib/http/pages/visitor";
import { Field } from "../../../components/field";
import { Form } from "../../../components/form";
import { flashOf, type PageProps, queryOf } from "../../../components/page-props";
import { AccountHeading } from "../../account-heading";
import { requireRecentVisitor } from "../../require-visitor";

export const metadata = { title: "Add an authenticator app", robots: { index: false } };

const PAGE = "/account/factors/totp";

export default async function Page(props: PageProps) {
  const visitor = await requireRecentVisitor(PAGE);
  const { id, formErrors } = await queryOf(props);
  const flash = await flashOf(formErrors);
  const enrollment = id ? await readEnrollment(pageContext(), visitor, id) : null;
  if (id && !enrollment && !flash) redirect(PAGE);
  return (
    <div className="narrow">
      <AccountHeading title="Add an authenticator app" />
      {enrollment ? (
        <>
          <p>Scan this code with your authenticator app.</p>
          {/* Made by `qrCodeSvg`: it contains nothing but numbers. */}
          <div
            className="qr-code"
            role="img"
            aria-label="QR code for an authenticator app"
            // biome-ignore lint/security/noDangerouslySetInnerHtml: see above
            dangerouslySetInnerHTML={{ __html: enrollment.qrCode }}
          />
          <p>
            On this device, <a href={enrollment.uri}>open the app</a>, or enter this key in it:
          </p>
          <p className="key">{enrollment.secret.match(/.{1,4}/g)?.join(" ")}</p>
          <Form action="/forms/account/factors/confirm" flash={flash}>
            <input type="hidden" name="id" value={enrollment.id} />
            <Field
              name="code"
              label="Code"
              hint="The six digits that the app shows."
              required
              autoComplete="one-time-code"
              inputMode="numeric"
            />
            <button type="submit">Add app</button>
          </Form>
        </>
      ) : (
        <>
          <p>An authenticator app on your phone makes a new code every 30 seconds. You enter it when you sign in.</p>
          <Form action="/forms/account/factors/totp" flash={flash}>
            <button type="submit">Continue</button>
          </Form>
        </>
      )}
      <p className="aside">
        <a href="/account">Cancel</a>
      </p>
    </div>
  );
}
