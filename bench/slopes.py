#!/usr/bin/env python3
"""Runs inputs that aim at more than linear time or memory, and prints their cost at growing sizes.

    slopes.py HEAPDUMP                      all cases below
    slopes.py HEAPDUMP CASE N... -- ARGS    one case, e.g. slopes.py build/heapdump types 64000 128000 -- tree --entries 20

Prints per size: KiB of input, CPU seconds, MiB of peak memory; then the slope (log time over log size) and memory over
input. "***": a slope above 1.3, or more than 64 times the input in memory."""
import os, sys, resource, tempfile, math
H=sys.argv[1] if len(sys.argv)>1 else sys.exit(__doc__)
T=tempfile.TemporaryDirectory(); D=T.name+'/'
def run(args, lim=20):
    pid=os.fork()
    if pid==0:
        fd=os.open('/dev/null',os.O_RDWR); os.dup2(fd,0)
        o=os.open(D+'out',os.O_WRONLY|os.O_CREAT|os.O_TRUNC); os.dup2(o,1); e=os.open(D+'err',os.O_WRONLY|os.O_CREAT|os.O_TRUNC); os.dup2(e,2)
        resource.setrlimit(resource.RLIMIT_CPU,(lim,lim)); resource.setrlimit(resource.RLIMIT_AS,(12<<30,12<<30)); resource.setrlimit(resource.RLIMIT_FSIZE,(4<<30,4<<30))
        os.execv(H,[H]+args)
    _,st,ru=os.wait4(pid,0)
    rc=os.waitstatus_to_exitcode(st)
    return rc, ru.ru_utime+ru.ru_stime, ru.ru_maxrss/1024, os.path.getsize(D+'out')
def chrome_events(evs): return '{"traceEvents":['+','.join(evs)+']}'
def new_heap(frames, entries, types='{"1":"T"}', pid=1, dump='0x1'):
    return chrome_events(['{"pid":%d,"ph":"M","name":"stackFrames","args":{"stackFrames":{%s}}}'%(pid,frames),'{"pid":%d,"ph":"M","name":"typeNames","args":{"typeNames":%s}}'%(pid,types),'{"pid":%d,"ts":10,"ph":"v","id":"%s","args":{"dumps":{"heaps":{"m":{"entries":[%s]}}}}}'%(pid,dump,entries)])
G={}
def gen(f): G[f.__name__]=f; return f
@gen
def chain(n): # n frames one below the other, an entry each
    return new_heap(','.join('"%x":{"name":"f%x"%s}'%(i,i,',"parent":"%x"'%(i-1) if i else '') for i in range(n)), ','.join('{"size":"%x","bt":"%x"}'%(n-i+1,i) for i in range(n)))
@gen
def chain_same(n): # recursion: all frames of one name
    return new_heap(','.join('"%x":{"name":"f"%s}'%(i,',"parent":"%x"'%(i-1) if i else '') for i in range(n)), ','.join('{"size":"%x","bt":"%x"}'%(n-i+1,i) for i in range(n)))
@gen
def chain_leaf(n): # only the deepest is an entry
    return new_heap(','.join('"%x":{"name":"f%x"%s}'%(i,i,',"parent":"%x"'%(i-1) if i else '') for i in range(n)), '{"size":"ff","bt":"%x"}'%(n-1))
@gen
def comb(n): # a chain, entries at sqrt many leaves deep
    k=int(n**.5); fr=[];en=[]
    for i in range(n): fr.append('"%x":{"name":"f%x"%s}'%(i,i,',"parent":"%x"'%(i-1) if i else ''))
    for j in range(n): fr.append('"l%x":{"name":"l%x","parent":"%x"}'%(j,j,n-1-j%k)); en.append('{"size":"%x","bt":"l%x"}'%(1+j,j))
    return new_heap(','.join(fr),','.join(en))
@gen
def dumps(n): return chrome_events(['{"pid":1,"ts":%d,"ph":"v","id":"%x","args":{"dumps":{"heaps":{"m":{"entries":[{"size":"a","bt":""}]}}}}}'%(i,i) for i in range(n)])
@gen
def procs(n): return chrome_events(['{"pid":%d,"ts":1,"ph":"v","id":"1","args":{"dumps":{"heaps":{"m":{"entries":[{"size":"a","bt":""}]}}}}}'%i for i in range(n)])
@gen
def dumpsnew(n): # each dump has its own function: no table of functions times dumps
    return chrome_events(['{"pid":1,"ph":"M","name":"stackFrames","args":{"stackFrames":{"0":{"name":"main"},%s}}}'%','.join('"%x":{"name":"f%d","parent":"0"}'%(i+1,i) for i in range(n))]+['{"pid":1,"ts":%d,"ph":"v","id":"%x","args":{"dumps":{"heaps":{"m":{"entries":[{"size":"ff","bt":""},{"size":"ff","bt":"%x"}]}}}}}'%(i,i,i+1) for i in range(n)])
@gen
def allocs(n): return chrome_events(['{"pid":1,"ts":1,"ph":"v","id":"1","args":{"dumps":{"heaps":{%s}}}}'%','.join('"m%d":{"entries":[{"size":"a","bt":""}]}'%i for i in range(n))])
@gen
def samedump(n): return chrome_events(['{"pid":1,"ts":1,"ph":"v","id":"1","args":{"dumps":{"heaps":{"m":{"entries":[{"size":"a","bt":""}]}}}}}']*n)
@gen
def sameid(n): return new_heap(','.join('"1":{"name":"f%d"}'%i for i in range(n)), '{"size":"a","bt":"1"}')
@gen
def cyc(n): return new_heap(','.join('"%x":{"name":"f","parent":"%x"}'%(i,(i+1)%n) for i in range(n)), ','.join('{"size":"a","bt":"%x"}'%i for i in range(n)))
@gen
def scalars(n): return chrome_events(['{"pid":1,"ts":1,"ph":"v","id":"1","args":{"dumps":{"allocators":{%s}}}}'%','.join('"m/a%d":{"attrs":{"size":{"type":"scalar","units":"bytes","value":"a"}}}'%i for i in range(n))])
@gen
def oldnest(n): # old format: deeply nested brackets
    return '{"traceEvents":['+'[{"a":'*n
@gen
def escs(n): return new_heap('"1":{"name":"'+'\\u0001'*n+'"}','{"size":"a","bt":"1"}')
@gen
def longname(n): # chain of 200 frames whose names are n/200 bytes
    k=200; return new_heap(','.join('"%x":{"name":"%s%x"%s}'%(i,'n'*(n//k),i,',"parent":"%x"'%(i-1) if i else '') for i in range(k)), ','.join('{"size":"%x","bt":"%x"}'%(k-i+1,i) for i in range(k)))
@gen
def types(n): return new_heap('"0":{"name":"a"}',','.join('{"size":"a","bt":"0","type":"%x"}'%i for i in range(n)),'{'+','.join('"%x":"T%d"'%(i,i) for i in range(n))+'}')
@gen
def grid(n): # sqrt n frames x sqrt n types
    k=int(n**.5); return new_heap(','.join('"%x":{"name":"f%x"%s}'%(i,i,',"parent":"%x"'%(i-1) if i else '') for i in range(k)), ','.join('{"size":"%x","bt":"%x","type":"%x"}'%(1+a*b,a,b) for a in range(k) for b in range(k)),'{'+','.join('"%x":"T%d"'%(i,i) for i in range(k))+'}')
@gen
def badevents(n): return chrome_events(['{"pid":1,"ts":1,"ph":"v","id":"1","args":{"dumps":{"heaps":{"m":{"entries":[{"size":"zz","bt":"9"}]}}}}}']*n)
def v2(nodes,strings,counts,more=''):
    return chrome_events(['{"pid":1,"ts":10,"ph":"v","id":"0x1","args":{"dumps":{"heaps_v2":{"maps":{"nodes":[%s],"strings":[%s],"types":[{"id":1,"name_sid":1}]},"allocators":{"m":{%s}}}}}}'%(nodes,strings,counts)])
@gen
def v2chain(n): return v2(','.join('{"id":%d,"name_sid":%d%s}'%(i+1,i%7+1,',"parent":%d'%i if i else '') for i in range(n)),','.join('{"id":%d,"string":"s%d"}'%(i,i) for i in range(1,9)),'"counts":[%s],"nodes":[%s],"sizes":[%s],"types":[%s]'%(','.join(['1']*n),','.join(str(i+1) for i in range(n)),','.join(['8']*n),','.join(['1']*n)))
# netcf
def dom(b): return 'a 2 x 0\n'+b+'c x 1\n'
@gen
def nchain(n): return dom('t 1 A\nt 2 B\n'+''.join('o %x %d 8%s\n'%(i+1,1+i%2,' %x'%(i+2) if i<n-1 else '') for i in range(n))+'r 1 0 0\n')
@gen
def nstar(n): return dom('t 1 A\n'+'o 1 1 8 '+' '.join('%x'%(i+2) for i in range(n))+'\n'+''.join('o %x 1 8\n'%(i+2) for i in range(n))+'r 1 0 0\n')
@gen
def nroots(n): return dom('t 1 A\nt 2 Z\no ffffff 2 8\n'+''.join('o %x 1 8 ffffff\nr %x 0 0\n'%(i+1,i+1) for i in range(n)))
@gen
def nladder(n): # a bad case for iterative dominators: a forward chain and back edges
    return dom('t 1 A\n'+''.join('o %x 1 8 %x %x\n'%(i+1,min(i+2,n),n-i if n-i>0 else 1) for i in range(n))+'r 1 0 0\nr %x 0 0\n'%n)
@gen
def ndoms(n): return ''.join('a 2 d%d 0\no %x 1 8\nr %x 0 0\nc d%d 1\n'%(i,i+1,i+1,i) for i in range(n))
@gen
def nempty(n): return 'a 2 d 0\nc d 1\n'*n
@gen
def ndomsame(n): return 'a 2 d 0\nt 1 A\no 1 1 8\nr 1 0 0\nc d 1\n'*n
@gen
def ndomclash(n): return ''.join('a 2 d 0\nt 1 A%d\no 1 1 %x\nr 1 0 0\nc d 1\n'%(i,i+1) for i in range(n))
@gen
def nsameobj(n): return dom('t 1 A\n'+'o 1 1 8\n'*n+'r 1 0 0\n')
@gen
def nclasses(n): return dom(''.join('t %x C%x\no %x %x 8\nr %x 0 0\n'%(i+1,i,i+1,i+1,i+1) for i in range(n)))
@gen
def nclasschain(n): return dom(''.join('t %x C%x\no %x %x 8%s\n'%(i+1,i,i+1,i+1,' %x'%(i+2) if i<n-1 else '') for i in range(n))+'r 1 0 0\n')
@gen
def nsameclass(n): return dom('t 1 A\n'*n+'o 1 1 8\n')
@gen
def nmissing(n): return dom('t 1 A\no 1 1 8 '+' '.join('%x'%(i*7919+2) for i in range(n))+'\nr 1 0 0\n')
@gen
def nbad(n): return 'q\n'*n
@gen
def nrefs1(n): return dom('t 1 A\no 1 1 8 '+'1 '*n+'\nr 1 0 0\n')
def v8(nodes): # nodes: (type, name, bytes, [(edge type, name or index, to)]); node 0 holds node 1, the global object
    S={}; at=lambda t: S.setdefault(t,len(S)); N=[]; E=[]
    for k,(type,name,size,refs) in enumerate(nodes):
        N+=[type,at(name),2*k+1,size,len(refs)]; E+=[x for t,f,to in refs for x in (t,f if isinstance(f,int) else at(f),5*to)]
    meta='{"node_fields":["type","name","id","self_size","edge_count"],"node_types":[["hidden","array","string","object","code","closure","regexp","number","native","synthetic"],"string","number","number","number"],"edge_fields":["type","name_or_index","to_node"],"edge_types":[["context","element","property","internal","hidden","shortcut","weak"],"string_or_number","node"]}'
    import json
    return '{"snapshot":{"meta":%s,"node_count":%d,"edge_count":%d},"nodes":[%s],"edges":[%s],"strings":%s}'%(meta,len(nodes),len(E)//3,','.join(map(str,N)),','.join(map(str,E)),json.dumps(list(S)))
V8_TOP=(9,'',0,[(5,'1',1)])
@gen
def v8list(n): # a linked list
    return v8([V8_TOP,(3,'global',32,[(2,'head',2)])]+[(3,'Node',100,[(2,'next',k+3)] if k+1<n else []) for k in range(n)])
@gen
def v8both(n): # a list in both directions
    return v8([V8_TOP,(3,'global',32,[(2,'head',2),(2,'tail',n+1)])]+[(3,'Node',100,([(2,'next',k+3)] if k+1<n else [])+([(2,'prev',k+1)] if k else [])) for k in range(n)])
@gen
def v8shared(n): # two collections with the same objects
    return v8([V8_TOP,(3,'global',32,[(2,'a',2),(2,'b',3)])]+[(3,'Array',16,[(1,k,4+k) for k in range(n)])]*2+[(3,'Item',100,[])]*n)
@gen
def v8nest(n): # nested arrays, each next to a wide array
    k=int(n**.5); nodes=[V8_TOP,(3,'global',32,[(2,'a',2)])]
    for i in range(k): nodes.append((3,'Array',16,[(1,0,2+i+1)]*(i+1<k)+[(1,j,2+k) for j in range(1,k)]))
    return v8(nodes+[(3,'Array',1000,[])])
@gen
def v8names(n): # one object with n properties
    return v8([V8_TOP,(3,'global',32,[(2,'map',2)])]+[(3,'Object',16,[(2,'user %d'%k,3+k) for k in range(n)])]+[(3,'User',100,[])]*n)
@gen
def v8promises(n): # a chain of two classes in turn
    return v8([V8_TOP,(3,'global',32,[(2,'pending',2)])]+[(3,'Promise',40,[(3,'reaction',k+3)] if k+1<n else []) if k%2==0 else (0,'system / PromiseReaction',48,[(3,'promise',k+3)] if k+1<n else []) for k in range(n)])
@gen
def v8cycle(n): # a list of objects of seven classes in turn
    return v8([V8_TOP,(3,'global',32,[(2,'head',2)])]+[(3,'Part%d'%(k%7),100,[(2,'next%d'%(k%7),k+3)] if k+1<n else []) for k in range(n)])
def size_of(n,g): # in a child: children start with the peak memory of this process
    pid=os.fork()
    if pid==0:
        b=G[g](n); open(D+'in','wb').write(b.encode() if isinstance(b,str) else b); os._exit(0)
    os.waitpid(pid,0); return os.path.getsize(D+'in')
BASE=run(['--help'])[2] # that of Python's fork
def go(g, cmd, ns, lim=30):
    res=[]
    for n in ns:
        size=size_of(n,g)
        rc,t,rss,out=run([a.replace('@',D) for a in cmd]+[D+'in'],lim)
        res.append((size,t,rss))
        if t>=lim-1: break
    slope=math.log(max(res[-1][1],1e-3)/max(res[-2][1],3e-3))/math.log(res[-1][0]/res[-2][0]) if len(res)>1 else 0
    over=max((r[2]-BASE)*1048576/r[0] if r[0]>2e5 else 0 for r in res)
    bad='***' if slope>1.3 and res[-1][1]>.3 or over>64 else ''
    print('%-12s %-28s'%(g,' '.join(cmd).replace(D,'')),' '.join('%dK %.2fs %.0fM;'%(r[0]//1024,r[1],r[2]) for r in res),'slope %.1f memory x%.0f'%(slope,over),bad,flush=True)
CUTS=[['--entries','20'],['--output-bytes','4000'],['--top','5'],['--min-parent-share','0.1'],['--min-bytes','1']]
CASES=[('v2chain',['tree'],[16000,60000]),('chain',['tree'],[16000,60000]),
 *[(g,['tree',*c],n) for c in CUTS for g,n in [('v2chain',[8000,32000]),('chain',[16000,60000]),('types',[64000,128000]),('grid',[16000,128000]),
   ('comb',[8000,32000]),('nchain',[16000,60000]),('nclasschain',[8000,32000])]],
 ('allocs',['diff','@in'],[4000,16000]),('allocs',['merge','-o','@o'],[4000,16000]),('dumps',['merge','-o','@o'],[8000,64000]),('dumps',['diff'],[8000,64000]),
 ('procs',['merge','-o','@o'],[8000,64000]),('procs',['diff','@in'],[8000,32000]),('samedump',['merge','--all','-o','@o'],[8000,64000]),('scalars',['info'],[8000,64000]),
 ('nroots',['path','--id','ffffff','--paths','4000000000'],[8000,32000]),
 *[(g,['tree','--invert'],[8000,32000]) for g in ('chain','chain_same','chain_leaf','comb','v2chain')],
 *[(g,['top'],[8000,32000]) for g in ('chain','chain_same','comb','v2chain','types')],
 *[(g,['tree',o,'f'],[8000,32000]) for o in ('--keep','--drop','--root') for g in ('chain','chain_same','comb','v2chain')],
 *[(g,['tree','--by','type'],[8000,32000]) for g in ('grid','types','v2chain')],
 *[(g,['diff','@in'],[8000,32000]) for g in ('chain','grid','types','v2chain')],
 *[(g,['convert','--to','chrome','-o','@o'],[8000,32000]) for g in ('chain','grid','types','v2chain','procs','allocs')],
 *[(g,['suspects'],[8000,64000]) for g in ('dumps','dumpsnew','procs','allocs','samedump')],
 *[(g,['suspects','@in'],[8000,32000]) for g in ('chain','comb','dumpsnew','procs','allocs')],
 *[(g,['suspects'],[30000,1000000 if g in ('v8list','v8cycle') else 120000]) for g in ('v8list','v8cycle','v8both','v8shared','v8nest','v8names','v8promises')],
 *[(g,['suspects','@in','@in'],[30000,120000]) for g in ('v8list','v8cycle','v8both','v8shared','v8nest','v8names','v8promises')],
 *[(g,c,[30000,1000000]) for g in ('v8list','v8cycle') for c in (['path','--class','Node' if g=='v8list' else 'Part3'],['diff','@in'])],
 *[(g,['tree'],[8000,64000]) for g in ('cyc','sameid','escs','longname','badevents','samedump')],
 *[(g,['info'],[20000,80000]) for g in ('ndoms','nempty','ndomsame','ndomclash','nstar','nladder','nsameobj','nclasses','nsameclass','nmissing','nbad','nrefs1')]]
if len(sys.argv)>2:
    at=sys.argv.index('--'); go(sys.argv[2],sys.argv[at+1:],[int(n) for n in sys.argv[3:at]])
else:
    for g,c,n in CASES: go(g,c,n)
