// Draws the operations of the OpenAPI document with Swagger UI, and folds the errors of each operation.
'use strict';

/** Folds the error responses of an operation into one line that leads to the section about errors. */
function foldedErrors() {
  return {
    wrapComponents: {
      responses:
        (Responses, { React }) =>
        (props) => {
          const isError = (_, status) => /^[45]/.test(String(status));
          const errors = props.responses.filter(isError);
          const element = React.createElement;
          return element(
            'div',
            null,
            element(Responses, { ...props, responses: props.responses.filterNot(isError) }),
            errors.size === 0
              ? null
              : element('details', { className: 'errors' }, ...errorRows(element, errors)),
          );
        },
    },
  };
}

function errorRows(element, errors) {
  const rows = errors
    .entrySeq()
    .toArray()
    .map(([status, response]) =>
      element(
        'li',
        { key: status },
        element('code', null, status),
        ' ',
        ...withCode(response.get('description') ?? '', (text) => element('code', { key: text }, text)),
      ),
    );
  return [
    element('summary', { key: 'summary' }, `Errors: ${errors.keySeq().join(', ')}`),
    element('ul', { key: 'list' }, rows),
    element('a', { key: 'link', href: '#errors' }, 'How errors are described'),
  ];
}

/** Splits a text into plain parts and the parts between backticks, which `makeCode` turns into elements. */
function withCode(text, makeCode) {
  return text.split('`').map((part, index) => (index % 2 === 0 ? part : makeCode(part)));
}

function nameOf(reference) {
  return reference.split('/').at(-1);
}

/** Lists every error response that the document shares between its operations, by status. */
function listErrors(document_) {
  const list = document.getElementById('error-list');
  const statuses = new Map();
  for (const methods of Object.values(document_.paths ?? {}))
    for (const { responses = {} } of Object.values(methods))
      for (const [status, response] of Object.entries(responses))
        if (/^[45]/.test(status)) {
          const shared = document_.components?.responses?.[nameOf(response.$ref ?? '')] ?? response;
          // Some operations say more about an error than others: the shortest text is the common one.
          const texts = statuses.get(status) ?? [];
          if (!texts.some((text) => shared.description.startsWith(text)))
            statuses.set(status, [
              ...texts.filter((text) => !text.startsWith(shared.description)),
              shared.description,
            ]);
        }
  for (const [status, texts] of [...statuses].sort()) {
    const term = document.createElement('dt');
    term.textContent = status;
    const description = document.createElement('dd');
    description.append(
      ...withCode(texts.join(' '), (text) => {
        const code = document.createElement('code');
        code.textContent = text;
        return code;
      }),
    );
    list.append(term, description);
  }
}

/** Replaces the placeholder of the address in the samples. */
function showOrigin() {
  for (const sample of document.querySelectorAll('pre code'))
    sample.textContent = sample.textContent.replaceAll('{origin}', window.location.origin);
}

function followColorScheme() {
  const dark = window.matchMedia('(prefers-color-scheme: dark)');
  const apply = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
  dark.addEventListener('change', apply);
  apply();
}

followColorScheme();
window.addEventListener('DOMContentLoaded', () => {
  showOrigin();
  const ui = window.SwaggerUIBundle({
    url: 'docs/openapi.json',
    dom_id: '#api',
    presets: [window.SwaggerUIBundle.presets.apis],
    plugins: [foldedErrors],
    layout: 'BaseLayout',
    deepLinking: true,
    displayRequestDuration: true,
    defaultModelsExpandDepth: 0,
    defaultModelExpandDepth: 2,
    // Another user of the browser could read a stored key.
    persistAuthorization: false,
    validatorUrl: null,
    onComplete: () => {
      listErrors(ui.specSelectors.specJson().toJS());
    },
  });
});
