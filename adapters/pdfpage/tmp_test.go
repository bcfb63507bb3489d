package pdfpage_test
import ("testing";"os";"image/jpeg";"image/png";"path/filepath";"bytes";"github.com/verifyd/verifyd/adapters/pdfpage";"github.com/verifyd/verifyd/verification")
func TestTmpDraw(t *testing.T){
	d:=pdfpage.New(pdfpage.Options{})
	files,_:=filepath.Glob(os.Getenv("TMPPDF")+"/*.pdf")
	for _,f:=range files { raw,_:=os.ReadFile(f)
		out,err:=d.DrawPage(t.Context(),"t",verification.Document{SHA256:f},bytes.NewReader(raw)); if err!=nil {t.Error(f,err);continue}
		img,_:=jpeg.Decode(bytes.NewReader(out)); o,_:=os.Create(f+".png"); png.Encode(o,img); o.Close()}
}
