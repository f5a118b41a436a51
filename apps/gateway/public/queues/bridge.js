// This page is shown in a frame of the console. The script adds the credential of the console to the page's own
// requests for data. It also lets the console notice the inputs of this page, because requests of a page that nobody
// uses do not extend the session.
'use strict';

{
  const api = new URL('api/', document.baseURI).href;
  const isForData = (url) => new URL(url, document.baseURI).href.startsWith(api);

  const consoleOfFrame = () => (window.parent === window ? undefined : window.parent.tidingsConsole);

  /** Returns the headers that the console sends with its own requests. */
  const credential = () => Object.entries(consoleOfFrame()?.requestHeaders() ?? {});

  // A console that was opened before an upgrade of the gateway may lack this function.
  consoleOfFrame()?.watchInputs?.(window);

  const notice = document.createElement('p');
  notice.setAttribute('role', 'alert');
  notice.id = 'access-notice';
  Object.assign(notice.style, {
    position: 'fixed',
    inset: '0 0 auto 0',
    zIndex: '1000',
    margin: '0',
    padding: '1rem',
    background: '#8a1c1c',
    color: '#ffffff',
    font: '1rem/1.5 sans-serif',
    textAlign: 'center',
  });

  const showAccess = (status) => {
    if (status === 401) notice.textContent = 'Not signed in. Open this page from the console.';
    else if (status === 403) notice.textContent = 'Only operators can see the queues.';
    else return void notice.remove();
    document.body.append(notice);
  };

  const forData = new WeakSet();
  const { open, send } = XMLHttpRequest.prototype;
  XMLHttpRequest.prototype.open = function (method, url, ...others) {
    if (isForData(url)) forData.add(this);
    return open.call(this, method, url, ...others);
  };
  XMLHttpRequest.prototype.send = function (body) {
    if (forData.has(this)) {
      for (const [name, value] of credential()) this.setRequestHeader(name, value);
      this.addEventListener('loadend', () => showAccess(this.status));
    }
    return send.call(this, body);
  };

  const plainFetch = window.fetch;
  window.fetch = async (input, init) => {
    const request = new Request(input, init);
    if (!isForData(request.url)) return plainFetch(request);
    for (const [name, value] of credential()) request.headers.set(name, value);
    const response = await plainFetch(request);
    showAccess(response.status);
    return response;
  };
}
