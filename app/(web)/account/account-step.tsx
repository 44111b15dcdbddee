import type { ReactNode } from "react";
import { Form } from "../components/form";
import { COMMON } from "../language/common-texts";
import { textsOf } from "../language/page-language";

type Props = {
  title: string;
  /** What the link to the account is called. Default: "Cancel". */
  back?: string;
  children: ReactNode;
};

/** A page that does one thing with the account: its title, its form, the way back to the account, and out. */
export async function AccountStep({ title, back, children }: Props) {
  const { cancel, signOut } = await textsOf(COMMON);
  return (
    <div className="narrow">
      <h1>{title}</h1>
      {children}
      <div className="step-end">
        <a href="/account">{back ?? cancel}</a>
        <Form action="/forms/sign-out">
          <button type="submit" className="link">
            {signOut}
          </button>
        </Form>
      </div>
    </div>
  );
}
