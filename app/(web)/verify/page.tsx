import { Form } from "../parts/form";
import { MailedToken } from "../parts/mailed-token";
import { flashOf, type PageProps, queryOf } from "../parts/search-params";

export const metadata = { title: "Confirm your address" };

export default async function Page(props: PageProps) {
  const { again } = await queryOf(props);
  return (
    <div className="narrow">
      <h1>Confirm your address</h1>
      <p>We have sent you a mail with a link. Confirm only if it was you who made an account with this address.</p>
      <Form action="/forms/verify" trouble={await flashOf(again)}>
        <MailedToken />
        <button type="submit">This address is mine</button>
      </Form>
      <p className="aside">
        No mail? Look into the spam folder, or <a href="/sign-in">sign in</a> with your password to get another.
      </p>
    </div>
  );
}
